//! Says where libchime is: in the release that CHIME_DIR names, or where pkg-config finds it.

use std::env;
use std::path::Path;
use std::process::Command;

/// The series of the declarations in src/sys.rs.
const SERIES: (&str, &str) = ("0.9", "0.10");

fn main() {
    for name in ["CHIME_DIR", "CHIME_LINK", "PKG_CONFIG", "PKG_CONFIG_PATH"] {
        println!("cargo:rerun-if-env-changed={name}");
    }
    if env::var_os("DOCS_RS").is_some() {
        return; // documentation links nothing
    }
    let shared = env::var("CHIME_LINK").map_or(false, |link| link == "shared");
    match env::var("CHIME_DIR") {
        Ok(directory) => {
            let lib = Path::new(&directory).join("lib");
            let files: &[&str] =
                if shared { &["libchime.so", "libchime.dylib", "libchime.dll.a"] } else { &["libchime.a"] };
            if !files.iter().any(|file| lib.join(file).exists()) {
                panic!("CHIME_DIR={directory}: this is no unpacked release of Chime");
            }
            println!("cargo:rustc-link-search=native={}", lib.display());
            println!("cargo:rerun-if-changed={}", lib.display());
            link(shared);
        }
        Err(_) => by_pkg_config(shared),
    }
}

fn link(shared: bool) {
    println!("cargo:rustc-link-lib={}=chime", if shared { "dylib" } else { "static" });
    let system = env::var("CARGO_CFG_TARGET_OS").unwrap_or_default();
    let needed: &[&str] = match system.as_str() {
        "linux" => &["dylib=dl", "dylib=pthread"],
        "windows" => &["dylib=advapi32"],
        _ => &[],
    };
    for library in needed.iter().filter(|_| !shared) {
        println!("cargo:rustc-link-lib={library}");
    }
}

fn by_pkg_config(shared: bool) {
    let program = env::var("PKG_CONFIG").unwrap_or_else(|_| "pkg-config".into());
    let wanted = [format!("chime >= {}", SERIES.0), format!("chime < {}", SERIES.1)];
    let output = match Command::new(&program).arg("--libs").args(&wanted).output() {
        Ok(output) => output,
        Err(error) => panic!("{program}: {error}. CHIME_DIR names an unpacked release of Chime instead"),
    };
    if !output.status.success() {
        panic!(
            "libchime {} was not found: install it, or name an unpacked release by CHIME_DIR. {program} says: {}",
            SERIES.0,
            String::from_utf8_lossy(&output.stderr)
        );
    }
    let flags = String::from_utf8(output.stdout).unwrap_or_default();
    // Cargo hands no rpath of a library on to its programs. Where one is needed, as in an unpacked release, the archive beside
    // it becomes part of the program instead.
    let rpath = flags.split_whitespace().find_map(|flag| flag.strip_prefix("-Wl,-rpath,"));
    if let Some(directory) = rpath.filter(|directory| !shared && Path::new(directory).join("libchime.a").exists()) {
        println!("cargo:rustc-link-search=native={directory}");
        return link(false);
    }
    for flag in flags.split_whitespace() {
        if let Some(directory) = flag.strip_prefix("-L") {
            println!("cargo:rustc-link-search=native={directory}");
        } else if let Some(library) = flag.strip_prefix("-l") {
            println!("cargo:rustc-link-lib=dylib={library}");
        }
    }
}
