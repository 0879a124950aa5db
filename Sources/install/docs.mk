# make docs           manual pages (build/docs/man) and HTML (build/docs/html/index.html): the headers' comments, with
#                     install/docs/examples; in HTML the guides of a release and examples-c, too
# make install-docs   the manual pages in MANDIR, the HTML in DOCDIR/html
#
# The lists of functions (names.txt, include/README.md, Limits.md) must go with the headers (listed.py).
#
# Doxygen, which must not warn; Python 3; and groff, which must not, either.

MANDIR ?= $(PREFIX)/share/man
DOCDIR ?= $(PREFIX)/share/doc/chime
DOCS = build/docs
# What the pages are made of.
PAGES_OF = ../include/chime.h ../include/chime_run_loop.h ../include/README.md ChimeC/exports.map ../README.md Bindings/README.md \
  install/dist/release.py $(wildcard Chime/Chime.docc/* install/docs/* install/docs/examples/* ../examples-c/*)

.PHONY: docs install-docs
docs: $(DOCS)/made
	python3 install/docs/listed.py
$(DOCS)/made: $(PAGES_OF)
	rm -rf $(DOCS)
	mkdir -p $(DOCS)
	PYTHONDONTWRITEBYTECODE=1 python3 install/docs/pages.py ../include $(DOCS)/pages
	cd $(DOCS) && doxygen '$(abspath install/docs/Doxyfile)'
	rm $(DOCS)/html/*_8md.html $(DOCS)/html/*_8dox.html # empty: pages on the files that the guides come from
	PYTHONDONTWRITEBYTECODE=1 python3 install/docs/man.py ../include ChimeC/exports.map $(DOCS)/man '$(VERSION)'
	sh install/docs/check.sh $(DOCS)
	touch $@

install-docs: docs
	@MANDIR='$(MANDIR)' DOCDIR='$(DOCDIR)' DOCS='$(DOCS)' $(INSTALLER) install docs
