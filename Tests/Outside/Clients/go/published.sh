#!/bin/sh
# The module under a path that can be fetched, given to it by the owner's command in Sources/install/README.md: it is vetted and
# tested, and a program gets it as from a proxy, without the symbolic links that no module's zip has. Called by `run`.
set -e
. ../need.sh
need python3
place=$BUILD/published
rm -rf "$place"
mkdir -p "$place/module" "$place/proxy/example.org/owner/chime/@v" "$place/program"
cp -RP "$CHIME_BINDINGS/go/." "$place/module"
command=$(sed -n '/^(cd Sources\/Bindings\/go && sed .* go\.mod /p' "$CHIME_BINDINGS/../install/README.md" | sed 's/^(cd [^ ]* && //; s/)$//')
(cd "$place/module" && eval "$command" && go vet ./... && go test -run 'Example|TestAnIdle' . && find . -type l -delete)
cmp "$place/module/LICENCE" "$CHIME_BINDINGS/LICENCE" # a file of its own

cd "$place/proxy/example.org/owner/chime/@v"
cp "$place/module/go.mod" v0.9.0.mod
echo '{"Version": "v0.9.0"}' >v0.9.0.info
echo v0.9.0 >list
python3 -c 'import pathlib, sys, zipfile
with zipfile.ZipFile("v0.9.0.zip", "w") as archive:
    for path in pathlib.Path(sys.argv[1]).iterdir():
        archive.write(path, f"example.org/owner/chime@v0.9.0/{path.name}")' "$place/module"

cd "$place/program"
sed -n '/^```go$/,/^```$/p' "$CHIME_BINDINGS/go/README.md" | sed '/^```/d; s|"chime"|"example.org/owner/chime"|' >main.go
printf 'module idle\n\ngo 1.18\n' >go.mod
export GOPROXY="file://$place/proxy" GOSUMDB=off GOMODCACHE="$place/cache" GOFLAGS=-modcacherw
go get example.org/owner/chime@v0.9.0
go mod tidy
said=$(go run .)
[ "$said" = "idle, tick 1" ] || { echo "the program says: $said"; exit 1; }
