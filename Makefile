# Everything CI does, at home. "make test" needs Go, its modules, bash and coreutils only.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS += --no-print-directory

# A checkout that git does not trust builds too; the binary knows its commit
# where git tells it.
export GOFLAGS := $(strip $(GOFLAGS) -buildvcs=false)
VERSION = $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
COMMIT = $(shell git rev-parse HEAD 2>/dev/null)
DATE = $(shell TZ=UTC0 git show -s --date=format-local:%Y-%m-%dT%H:%M:%SZ --format=%cd HEAD 2>/dev/null)
STAMP = $(shell git status --porcelain >/dev/null 2>&1 && echo true || echo false)

# Where make install puts things; DESTDIR comes before them, for packages. UNITDIRS are those that systemd
# --user reads. BIN is installed, and TROUPE prints the completions: another one if BIN is of another machine.
PREFIX ?= /usr/local
override PREFIX := $(patsubst ~/%,$(HOME)/%,$(PREFIX))
UNITDIR ?= $(if $(filter $(HOME)/%,$(PREFIX)/),$(PREFIX)/share,$(PREFIX)/lib)/systemd/user
UNITDIRS := /usr/lib/systemd/user /usr/local/lib/systemd/user /lib/systemd/user /etc/systemd/user $(HOME)/.local/share/systemd/user $(HOME)/.config/systemd/user
OUT ?= bin/troupe
BIN ?= bin/troupe
TROUPE ?= bin/troupe
SOURCES := $(shell find . -name '*.go' -not -path './tools/*' -not -path './bench/*' -not -path './supervision_test/*') docs/cli.md docs/commands.md go.mod \
	$(shell find contrib/systemd backends/shell/drivers internal -type f -not -name '*.go' -not -path '*/testdata/*')

# Where several things happen at once, tests run under the race detector, if there is
# one: a test of internal/test/need says whether there is. Terminal emulation and the
# index of large outputs are sequential; they run without it. So do checks of the tree and
# the modes of a host, and searches of all schedules; make soak runs these under it. The
# longest packages begin first.
RACE = $(if $(filter 1,$(shell go env CGO_ENABLED)),-race)
RACED = $(filter-out %/backends/screen %/spill/view,$(shell go list ./backends/keeper ./backends/shell \
	./backends/engine ./spill ./actors/... ./client ./internal/gateway/... ./internal/test/fake ./internal/test/hostile ./spill/... \
	./backends/... ./supervision_test/...))
UNRACED := '^Test(House|Docs|Requirements|Explore|.*Anywhere$$|Modes$$|Conformance$$)'
PLAIN = $(filter-out $(RACED) $(shell go list $(WAITS)),$(shell go list ./...))

# Tests of the command and of the library wait for processes more than they compute.
WAITS := . ./cmd/troupe

# How many packages run side by side in make test. A machine whose processors have other
# work wants P=1.
P ?= 3

# What make quick runs: decisions, texts and virtual time, with hardly a process.
QUICK := ./messages ./actors/... ./spill/view ./internal/shelltext/... ./backends ./backends/heap ./internal/test/fake ./internal/dialect/core \
	./internal/dialect/codelia ./internal/dialect/opencode ./internal/api ./internal/gateway/mcp/tasks ./internal/gateway/webhook ./internal/journal ./internal/test/need

# How long each fuzz target is given in make soak and make fuzz: a group of its own.
FUZZTIME ?= 20s
FUZZ = $(shell grep -rE '^func Fuzz' --include='*_test.go' --exclude-dir=tools . | sort | \
	sed -E 's,^(.*)/[^/]*:func (\w+).*,-- -run=^$$ -fuzz=^\2$$ -fuzztime=$(FUZZTIME) -parallel=2 \1,')

.PHONY: build test quick smoke check deps bench catalogue soak fuzz stress docs man install uninstall dist module release-check mutants hosts

build: ## the static binary, bin/troupe
	CGO_ENABLED=0 go build -trimpath -buildvcs=$(STAMP) -ldflags "-s -w -X main.version=$(VERSION) -X main.commit=$(COMMIT) -X main.date=$(DATE)" -o $(OUT) ./cmd/troupe

test: .bin/testsum ## all but the long forms of tests, ten to sixteen minutes; the last line counts them
	@tools/test.sh -shuffle=on -p=$(P) -- '&' -parallel=6 $(WAITS) -- $(PLAIN) \
		-- -parallel=6 -run=$(UNRACED) ./supervision_test ./internal/test/fake ./backends/engine ./backends/keeper ./backends/pipe ./backends/pty ./backends/shell \
		-- '&' -C=bench . -- '&' -C=tools ./testsum ./modulepath ./mutants -- -skip=$(UNRACED) $(RACE) $(RACED)

quick: .bin/testsum ## what needs no process, without the race detector: under a minute
	@tools/test.sh -p=2 -- $(QUICK)

smoke: build ## the main job of bin/troupe, in directories of its own: seconds
	@tools/smoke.sh

check: .bin/tools ## format, vet, staticcheck, the house test, the requirements, macOS compiles
	@unformatted=$$(.bin/gofumpt -l .); test -z "$$unformatted" || { echo "not formatted by gofumpt: $$unformatted"; exit 1; }
	go vet ./...
	go -C bench vet .
	go -C tools vet ./testsum ./modulepath ./mutants
	.bin/staticcheck ./...
	cd bench && ../.bin/staticcheck .
	cd tools && ../.bin/staticcheck ./testsum ./modulepath ./mutants
	CGO_ENABLED=0 GOOS=darwin go vet ./...
	CGO_ENABLED=0 GOOS=darwin go -C bench vet .
	go test -count=1 -run '^Test(House|Docs|Requirements)' ./supervision_test

deps: .bin/tools .bin/testsum ## the programs that tests may need (Debian), and the lint tools
	@tools/deps.sh

bench: ## ours beside raw, one line each; BENCH_JSON=file for JSON
	@BENCH_JSON=$(abspath $(BENCH_JSON)) BENCH_PROFILE=$(abspath $(BENCH_PROFILE)) go -C bench run .

catalogue: .bin/testsum ## faults, bad inputs and security; the last line counts them
	@tools/test.sh -catalogue '-run=^Test(Fault|BadInput|Security)' -p=1 -- ./...

soak: .bin/testsum ## the long forms of the tests that have one, and what fuzz does
	@TROUPE_SOAK=1 tools/test.sh -shuffle=on -p=1 -timeout=90m -- . ./cmd/troupe -- $(RACE) ./internal/artifact ./backends/screen $(RACED) $(FUZZ)

fuzz: .bin/testsum ## each fuzz target for FUZZTIME (20s)
	@tools/test.sh $(FUZZ)

stress: .bin/testsum ## what races would break, a hundred times
	@tools/test.sh -shuffle=on -p=1 -count=100 -timeout=90m -- $(RACE) ./supervision_test ./backends/...

docs: .bin/testsum ## links, tables and lengths of the documents
	@tools/test.sh '-run=^TestDocs' -- ./supervision_test

hosts: build ## wakes the published Claude Code, opencode and pi, with a stand-in for a model; needs npm, tmux, jq
	@tools/hosts/wake.sh

man: ## man pages in man/, from the help of the verbs and docs/cli.md
	@go test -count=1 -run='^TestManPages$$' ./cmd/troupe -write-man=$(abspath man)

install: bin/troupe man/man1/troupe.1 ## the program, completions, man pages and user units, below DESTDIR and PREFIX
	@install -D -m 755 "$(BIN)" "$(DESTDIR)$(PREFIX)/bin/troupe"
	@install -d "$(DESTDIR)$(PREFIX)"/share/{bash-completion/completions,zsh/site-functions,fish/vendor_completions.d,man} "$(DESTDIR)$(UNITDIR)"
	@"$(TROUPE)" completion bash | install -m 644 /dev/stdin "$(DESTDIR)$(PREFIX)/share/bash-completion/completions/troupe"
	@"$(TROUPE)" completion zsh | install -m 644 /dev/stdin "$(DESTDIR)$(PREFIX)/share/zsh/site-functions/_troupe"
	@"$(TROUPE)" completion fish | install -m 644 /dev/stdin "$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/troupe.fish"
	@find man -type f -printf '%P\n' | while read -r page; do install -D -m 644 "man/$$page" "$(DESTDIR)$(PREFIX)/share/man/$$page"; done
	@install -m 644 contrib/systemd/troupe.socket "$(DESTDIR)$(UNITDIR)"
	@sed 's|^ExecStart=/usr/local/bin/|ExecStart=$(PREFIX)/bin/|' contrib/systemd/troupe.service | install -m 644 /dev/stdin "$(DESTDIR)$(UNITDIR)/troupe.service"
	@[ -n "$(DESTDIR)" ] || echo "installed below $(PREFIX); as a service: $(if $(filter $(UNITDIR),$(UNITDIRS)),systemctl --user enable --now troupe.socket,$(PREFIX)/bin/troupe serve --install (systemd does not read $(UNITDIR)))"

uninstall: ## what make install has put there
	@rm -f "$(DESTDIR)$(PREFIX)"/{bin/troupe,share/bash-completion/completions/troupe,share/zsh/site-functions/_troupe,share/fish/vendor_completions.d/troupe.fish}
	@rm -f "$(DESTDIR)$(PREFIX)"/share/man/man[1-8]/troupe{,-*}.[1-8] "$(DESTDIR)$(UNITDIR)"/troupe.{service,socket}

dist: ## tarballs, Debian and npm packages for Linux on amd64 and arm64, and checksums, in dist/
	@tools/dist.sh

module: ## MODULE=host/owner/troupe: the module path, in the whole tree
	@go -C tools run ./modulepath $(MODULE)

mutants: ## breaks one promise at a time in a copy of the tree, and runs the test that must notice: minutes
	@go -C tools run ./mutants

release-check: dist mutants ## installs what dist made in bare root file systems, and the module from a proxy: minutes
	@tools/release-check.sh

# They are made when a source is newer: make install needs no Go after make build man.
bin/troupe: $(SOURCES)
	@$(MAKE) build OUT=bin/troupe

man/man1/troupe.1: $(SOURCES)
	@$(MAKE) man

.bin/testsum: $(wildcard tools/testsum/*.go) tools/go.mod
	@go -C tools build -o ../.bin/testsum ./testsum

# The stamp is newer than the tools' versions: they are built once.
.bin/tools: tools/go.mod tools/go.sum
	@go -C tools build -o ../.bin/ honnef.co/go/tools/cmd/staticcheck golang.org/x/tools/cmd/deadcode mvdan.cc/gofumpt gotest.tools/gotestsum
	@touch .bin/tools
