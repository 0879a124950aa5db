#!/bin/sh
# check.sh DOCS: each function of the headers has a manual page, which man shows without a warning, and the HTML names it.
set -eu
docs=$1
failed=0
for name in $(cat ../include/chime.h ../include/chime_run_loop.h | grep -o '^[a-z].*\bchime_[a-z0-9_]*(' | grep -o 'chime_[a-z0-9_]*(' | tr -d '('); do
  if [ ! -f "$docs/man/man3/$name.3" ]; then
    echo "no manual page: $name" >&2
    failed=1
  elif ! grep -rqw "$name" "$docs/html"; then
    echo "not in the HTML: $name" >&2
    failed=1
  fi
done
for page in "$docs"/man/man?/*; do
  case $(head -n 1 "$page") in .so*) continue ;; esac # another page under a further name
  for section in EXAMPLES 'SEE ALSO'; do
    case $section:$page in 'SEE ALSO':*man7*) continue ;; esac
    grep -q "^.SH $section" "$page" || { echo "$page: no $section" >&2; failed=1; }
  done
  warnings=$(LC_ALL=C.UTF-8 MANROFFSEQ='' groff -man -Tutf8 -ww -z "$page" 2>&1)
  [ -z "$warnings" ] || { echo "$warnings" >&2; failed=1; }
done
[ "$failed" -eq 0 ] || exit 1
echo "ok docs: $(ls "$docs"/man/man3 | wc -l) pages in man3, chime(7), HTML"
