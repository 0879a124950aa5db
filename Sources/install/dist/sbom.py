"""The bill of materials of a libchime, as SPDX 2.3 in JSON: what Bundled.md says, for machines."""

import hashlib
import json
import re
import time
import uuid

from release import DATE, SERIES, SONAME_VERSION, VERSION, is_executable, link_of, run

EXCEPTION = "Apache-2.0 WITH Swift-exception"


def toolchain():
    return re.search(r"Swift version ([\d.]+)", run("swiftc", "--version")).group(1)


def parts(target):
    """Identifier, name, version, licence, where it is from, what of it."""
    swift = toolchain()
    found = [
        ("swift-stdlib", "Swift standard library (Embedded)", swift, EXCEPTION, "https://github.com/swiftlang/swift",
         "what the code uses of it, compiled in, and its Unicode tables"),
        ("unicode-data", "Unicode character data", "NOASSERTION", "Unicode-DFS-2016", "https://www.unicode.org/Public/",
         "the tables, by way of the Swift toolchain"),
    ]
    if target.has_dispatch:
        source = "https://github.com/swiftlang/swift-corelibs-libdispatch"
        found += [("libdispatch", "swift-corelibs-libdispatch", swift, EXCEPTION, source, "libdispatch.a"),
                  ("blocks-runtime", "BlocksRuntime", swift, EXCEPTION, source, "libBlocksRuntime.a")]
    return found


def package(identifier, name, version, licence, source, comment, **more):
    found = {
        "SPDXID": f"SPDXRef-{identifier}", "name": name, "versionInfo": version, "downloadLocation": source,
        "filesAnalyzed": False, "licenseConcluded": licence, "licenseDeclared": licence, "copyrightText": "NOASSERTION",
        "comment": comment, **more,
    }
    if version == "NOASSERTION":
        del found["versionInfo"]
    return found


def document(target, tree):
    """Of the libraries in the tree of a release."""
    libraries = [(path, content) for path, content in sorted(tree.items())
                 if link_of(content) is None and (is_executable(path) or path.endswith(".a")) and not path.endswith(".sh")]
    files, relations = [], [("SPDXRef-DOCUMENT", "DESCRIBES", "SPDXRef-libchime")]
    for path, content in libraries:
        identifier = "SPDXRef-file-" + re.sub(r"[^\w.]", "-", path.split("/")[-1])
        files.append({
            "SPDXID": identifier, "fileName": f"./{path}", "fileTypes": ["BINARY"], "licenseConcluded": "NOASSERTION",
            "copyrightText": "NOASSERTION",
            "checksums": [{"algorithm": "SHA1", "checksumValue": hashlib.sha1(content).hexdigest()},
                          {"algorithm": "SHA256", "checksumValue": hashlib.sha256(content).hexdigest()}],
        })
        relations.append(("SPDXRef-libchime", "CONTAINS", identifier))
    # The standard's way to name the files of a package in one number.
    code = hashlib.sha1("".join(sorted(file["checksums"][0]["checksumValue"] for file in files)).encode()).hexdigest()
    packages = [package(
        "libchime", "libchime", VERSION, "NONE", "NOASSERTION",
        f"the shared library (series {SERIES}, libchime.so.{SONAME_VERSION} or .dylib) and the archive. No licence has been"
        " chosen yet", primaryPackagePurpose="LIBRARY", supplier="NOASSERTION", filesAnalyzed=True,
        packageVerificationCode={"packageVerificationCodeValue": code})]
    for part in parts(target):
        packages.append(package(*part))
        relations.append(("SPDXRef-libchime", "CONTAINS", f"SPDXRef-{part[0]}"))
    digest = hashlib.sha256("".join(file["checksums"][1]["checksumValue"] for file in files).encode()).hexdigest()
    return (json.dumps({
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"chime-{VERSION}-{target.platform}",
        "documentNamespace": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, digest)}",
        "creationInfo": {"created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(DATE)),
                         "creators": [f"Tool: chime-make-dist-{VERSION}"]},
        "packages": packages, "files": files,
        "relationships": [{"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}
                          for one, kind, other in relations],
    }, indent=2) + "\n").encode()
