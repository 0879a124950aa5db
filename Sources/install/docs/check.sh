#!/bin/sh
# check.sh DOCS: each function of the headers has a manual page, and the HTML names it. man shows each page without a warning and in
# 80 columns; its sections are there; what it refers to is a page. man -k finds what people look for. Links of the HTML lead somewhere,
# and to every page, without a network.
set -eu
docs=$1
failed=0
wrong() {
  echo "$1" >&2
  failed=1
}
for name in $(cat ../include/chime.h ../include/chime_run_loop.h | grep -o '^[A-Za-z].*\bchime_[a-z0-9_]*(' | grep -o 'chime_[a-z0-9_]*(' | tr -d '('); do
  page=$docs/man/man3/$name.3
  if [ ! -f "$page" ]; then
    wrong "no manual page: $name"
    continue
  fi
  grep -rqw "$name" "$docs/html" || wrong "not in the HTML: $name"
  for section in ATTRIBUTES AVAILABILITY; do
    grep -q "^.SH $section" "$page" || wrong "$page: no $section"
  done
done
for page in "$docs"/man/man?/*; do
  case $(head -n 1 "$page") in .so*) continue ;; esac # another page under a further name
  for section in EXAMPLES 'SEE ALSO'; do
    grep -q "^.SH $section" "$page" || wrong "$page: no $section"
  done
  for to in $(sed 's/\\-/-/g' "$page" | grep -o '\\fB[A-Za-z_-]*\\fP([37])' | sed 's/\\fB\(.*\)\\fP(\([37]\))/man\2\/\1.\2/' | sort -u); do
    [ -f "$docs/man/$to" ] || wrong "$page: no page $to"
  done
  warnings=$(LC_ALL=C.UTF-8 MANROFFSEQ='' groff -man -Tutf8 -P-c -rLL=78n -ww "$page" 2>&1 >"$docs/page" | head -n 5)
  [ -z "$warnings" ] || wrong "$warnings"
  long=$(sed 's/.\x08//g' "$docs/page" | LC_ALL=C.UTF-8 awk -v page="$page" 'length > 80 { print page ": above 80 columns: " $0 }' | head -n 5)
  [ -z "$long" ] || wrong "$long"
done
rm -f "$docs/page"
# What whatis(1) knows of a page is the line under NAME.
for words in 'idle chime_timer_postpone' 'timeout chime_timer_postpone' 'fork chime_reinitialize' 'pause chime_timer_suspend' 'descriptor chime_queue_fd'; do
  grep -A1 '^.SH NAME' "$docs/man/man3/${words#* }.3" | grep -q "${words% *}" || wrong "man -k ${words% *} does not find ${words#* }"
done
python3 -B ../.ci/links.py "$docs/html" || failed=1
[ "$failed" -eq 0 ] || exit 1
echo "ok docs: $(ls "$docs"/man/man3 | wc -l) pages in man3, $(ls "$docs"/man/man7 | wc -l) in man7, HTML"
