# make docs           manual pages (build/docs/man) and HTML (build/docs/html) out of the headers' comments, with install/docs/examples
# make install-docs   the manual pages in MANDIR, the HTML in DOCDIR/html
#
# The lists of all functions, in include/README.md and Limits.md, must go with the headers (listed.py).
#
# Doxygen, which must not warn; Python 3; and groff, which must not, either.

MANDIR ?= $(PREFIX)/share/man
DOCDIR ?= $(PREFIX)/share/doc/chime
DOCS = build/docs

.PHONY: docs install-docs
docs: $(DOCS)/made
	python3 install/docs/listed.py
$(DOCS)/made: ../include/chime.h ../include/chime_run_loop.h ChimeC/exports.map ../README.md $(wildcard install/docs/* install/docs/examples/* ../examples-c/*)
	rm -rf $(DOCS)
	mkdir -p $(DOCS)
	cd $(DOCS) && doxygen '$(abspath install/docs/Doxyfile)'
	PYTHONDONTWRITEBYTECODE=1 python3 install/docs/man.py ../include ChimeC/exports.map $(DOCS)/man '$(VERSION)'
	sh install/docs/check.sh $(DOCS)
	touch $@

install-docs: docs
	@MANDIR='$(MANDIR)' DOCDIR='$(DOCDIR)' DOCS='$(DOCS)' $(INSTALLER) install docs
