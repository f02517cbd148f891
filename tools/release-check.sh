#!/usr/bin/env bash
# Installs each package of dist/ for this machine in a bare root file system, which has sh, bash, their
# libraries and no more, and runs a job there; looks into those of the other machine; and installs the
# module from a proxy. Each way must end within 30 s.
#
#	tools/release-check.sh [tarball | deb | source | npm | contents | module]...
set -euo pipefail
cd "$(dirname "$0")/.."
tree=$PWD
limit=30

work=$(mktemp -d)
registry=
clean() {
	[[ -z $registry ]] || kill "$registry" 2>/dev/null || true
	chmod -R u+w "$work" && rm -rf "$work"
}
trap clean EXIT

fail() {
	echo "release-check: $1" >&2
	exit 1
}

case $(uname -m) in
x86_64) arch=amd64 cpu=x64 ;;
aarch64) arch=arm64 cpu=arm64 ;;
*) fail "no package is built for $(uname -m)" ;;
esac

# one FILE PATTERN... prints the one file of a pattern in dist/.
one() {
	local files=(dist/$1)
	[[ ${#files[@]} == 1 && -f ${files[0]} ]] || fail "dist/ has ${#files[@]} files like $1; run make dist"
	echo "$tree/${files[0]}"
}

# program ROOT FILE... copies programs into a root, at their places, with their libraries.
program() {
	local root=$1 file lib
	shift
	for file in "$@"; do
		install -D "$(readlink -f "$file")" "$root$file"
		while read -r lib; do
			[[ -e $root$lib ]] || install -D "$(readlink -f "$lib")" "$root$lib"
		done < <(ldd "$file" 2>/dev/null | grep -o '/[^ ]*' || true)
	done
}

# bare makes a root file system with a shell.
bare() {
	local root
	root=$(mktemp -d "$work/root.XXXXXX")
	mkdir -p "$root"/{proc,dev,tmp,root,etc,usr/bin}
	touch "$root/dev/null"
	program "$root" /bin/sh /bin/bash /usr/bin/env
	echo 'root:x:0:0:root:/root:/bin/sh' >"$root/etc/passwd"
	echo "$root"
}

# within ROOT TEXT runs a shell text there, as the first process of its namespaces.
within() {
	local user=()
	((EUID == 0)) || user=(--map-root-user)
	unshare "${user[@]}" --mount --pid --fork bash -c '
		mount -t proc proc "$1/proc"
		mount --bind /dev/null "$1/dev/null"
		exec chroot "$1" /usr/bin/env -i HOME=/root TMPDIR=/tmp PATH=/usr/local/bin:/usr/bin:/bin sh -ec "$2"' - "$1" "$2"
}

# job is what each way must be able to do: from nothing to a job in the background, and to its end.
job='
	troupe version
	id=$(troupe run -b "echo hello; exit 3")
	status=0
	troupe wait "$id" || status=$?
	[ "$status" = 3 ]
	[ "$(troupe logs "$id")" = hello ]
	troupe shutdown --stop-jobs >/dev/null'

# timed WAY COMMAND... runs the way and checks how long it took.
timed() {
	local way=$1 begun=$EPOCHREALTIME took
	shift
	"$@" >"$work/said" 2>&1 || {
		cat "$work/said" >&2
		fail "$way failed"
	}
	took=$(awk -v a="$begun" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.1f", b - a }')
	awk -v t="$took" -v l="$limit" 'BEGIN { exit t >= l }' || fail "$way took $took s, at most $limit"
	echo "release-check: $way: from nothing to the end of a job in $took s: $(grep -m1 '^troupe ' "$work/said")"
}

# nothing ROOT fails if a file of troupe is left.
nothing() {
	local left
	left=$(find "$1" -path "$1/proc" -prune -o -path "$1/root" -prune -o -path "$1/tmp" -prune -o -path "$1/var/lib/dpkg" -prune -o -name '*troupe*' -print)
	[[ -z $left ]] || fail "left after the removal: $left"
}

check_tarball() {
	local root file
	root=$(bare)
	file=$(one "troupe-*-linux-$arch.tar.gz")
	way() { mkdir -p "$root/usr/local" && tar -C "$root/usr/local" --strip-components=1 -xzf "$file" && within "$root" "$job"; }
	mkdir -p "$root/usr/local/share/man"
	chmod 2775 "$root/usr/local" "$root/usr/local/share" "$root/usr/local/share/man"
	timed tarball way
	[[ $(stat -c %a "$root"/usr/local{,/share,/share/man} | sort -u) == 2775 ]] || fail "the tarball changes the modes of directories that are there"
	tar -tzf "$file" | sed -n 's|^[^/]*/\(.*[^/]\)$|\1|p' | (cd "$root/usr/local" && xargs rm -f)
	rmdir "$root/usr/local/share/doc/troupe"
	nothing "$root"
}

check_deb() {
	local root file
	root=$(bare)
	mkdir -p "$root"/var/lib/dpkg/{info,updates}
	touch "$root"/var/lib/dpkg/{status,available}
	file=$(one "troupe_*_$arch.deb")
	dpkg_in() { dpkg --root="$root" --force-not-root --log=/dev/null "$@"; }
	way() { dpkg_in -i "$file" && within "$root" "$job"; }
	timed deb way
	dpkg_in -V troupe || fail "dpkg finds changed files"
	dpkg_in -P troupe >/dev/null 2>&1
	nothing "$root"
}

check_source() {
	local root
	root=$(bare)
	way() { make -s install DESTDIR="$root" && within "$root" "$job"; }
	timed "make install" way
	grep -q '^ExecStart=/usr/local/bin/troupe serve$' "$root/usr/local/lib/systemd/user/troupe.service" || fail "the unit has another path"
	make -s uninstall DESTDIR="$root"
	nothing "$root"
	make -n install PREFIX=/opt/troupe | grep 'troupe serve --install (systemd does not read /opt/troupe/lib/systemd/user)' >/dev/null ||
		fail "make install does not say that systemd does not read its units"
}

# npm installs and runs the package as a user does, from a registry that only this machine has.
check_npm() {
	local root node modules
	node=$(readlink -f "$(command -v node)")
	modules=$(dirname "$(dirname "$(readlink -f "$(command -v npm)")")")
	root=$(bare)
	program "$root" "$node"
	[[ -e $root/usr/bin/node ]] || install -D "$node" "$root/usr/bin/node"
	mkdir -p "$root/usr/lib/node_modules"
	cp -r "$modules" "$root/usr/lib/node_modules/npm"
	ln -s ../lib/node_modules/npm/bin/npm-cli.js "$root/usr/bin/npm"
	ln -s ../lib/node_modules/npm/bin/npx-cli.js "$root/usr/bin/npx"
	coproc REGISTRY { exec "$node" tools/registry.mjs dist; }
	registry=$REGISTRY_PID
	read -r address <&"${REGISTRY[0]}"
	printf 'registry=%s/\nupdate-notifier=false\naudit=false\nfund=false\n' "$address" >"$root/root/.npmrc"
	mkdir "$root/tmp/app"
	echo '{}' >"$root/tmp/app/package.json"
	way() {
		within "$root" 'cd /tmp/app; npx --yes troupe version
			status=0; npx troupe run --no-daemon "echo by npx; exit 3" || status=$?; [ "$status" = 3 ]
			npm install --global --loglevel=error troupe
			PATH=$PATH:$(npm prefix --global)/bin; '"$job"
	}
	timed npx way
	local there
	there=$(find "$root" -path "$root/proc" -prune -o -path '*/@*/troupe-linux-*/bin/troupe' -print | sed 's|.*/troupe-\(linux-[a-z0-9]*\)/.*|\1|' | sort -u)
	[[ $there == "linux-$cpu" ]] || fail "npm installed programs for: $there"
	within "$root" 'npm uninstall --global --loglevel=error troupe' >/dev/null
	nothing "$root"
}

# contents looks into what this machine cannot run.
check_contents() {
	(cd dist && sha256sum --quiet -c SHA256SUMS) || fail "a checksum differs"
	local other file field
	for other in amd64:x64:Advanced\ Micro\ Devices\ X86-64 arm64:arm64:AArch64; do
		IFS=: read -r a c machine <<<"$other"
		tar -xzOf "$(one "troupe-*-linux-$a.tar.gz")" --wildcards '*/bin/troupe' >"$work/a"
		dpkg-deb --fsys-tarfile "$(one "troupe_*_$a.deb")" | tar -xOf - --wildcards '*usr/bin/troupe' >"$work/b"
		tar -xzOf "$(one "npm-troupe-linux-$c-*.tgz")" package/bin/troupe >"$work/c"
		cmp -s "$work/a" "$work/b" && cmp -s "$work/a" "$work/c" || fail "the packages for $a have different programs"
		readelf -h "$work/a" | grep "Machine: *$machine" >/dev/null || fail "the program for $a is for another machine"
		! readelf -l "$work/a" | grep INTERP >/dev/null || fail "the program for $a is not static"
		field=$(dpkg-deb -f "$(one "troupe_*_$a.deb")" Architecture)
		[[ $field == "$a" ]] || fail "the Debian package for $a is for $field"
		! tar -tzf "$(one "troupe-*-linux-$a.tar.gz")" | grep '/$' || fail "the tarball for $a has entries of directories"
		for file in bin/troupe share/man/man1/troupe-run.1.gz share/bash-completion/completions/troupe share/zsh/site-functions/_troupe \
			share/fish/vendor_completions.d/troupe.fish lib/systemd/user/troupe.socket lib/systemd/user/troupe.service; do
			tar -tzf "$(one "troupe-*-linux-$a.tar.gz")" | grep "/$file\$" >/dev/null || fail "the tarball for $a lacks $file"
			dpkg-deb -c "$(one "troupe_*_$a.deb")" | grep "/usr/$file\$" >/dev/null || fail "the Debian package for $a lacks $file"
		done
		dpkg-deb --fsys-tarfile "$(one "troupe_*_$a.deb")" | tar -xOf - --wildcards '*/troupe.service' | grep '^ExecStart=/usr/bin/troupe serve$' >/dev/null ||
			fail "the unit of the Debian package for $a has another path"
	done
	echo "release-check: contents: the packages of both machines have the same static program, pages, completions and units"
}

# module sets the path of the module in a copy of the tree, serves the commit from a proxy, and
# installs the program from there. Nothing of this machine is asked but the module cache.
check_module() {
	local path=host.example/owner/troupe version=v0.1.0 copy=$work/module proxy cache
	git clone -q --no-hardlinks . "$copy"
	make -s -C "$copy" module MODULE=$path
	git -C "$copy" -c user.name=t -c user.email=t@localhost commit -qam "module: set the path"
	! git -C "$copy" grep -nE '^(import |	)([a-zA-Z_.]+ )?"troupe(/[a-z/]+)?"( //.*)?$' -- '*.go' ':!embed_test.go' || fail "an import has the former path"
	(cd "$copy" && go vet . ./supervision_test ./cmd/troupe && go test -count=1 -run '^Test(House|Docs|AnotherModule)' . ./supervision_test) >"$work/said" 2>&1 || {
		cat "$work/said" >&2
		fail "the tree with another module path"
	}
	go -C "$copy/bench" vet . || fail "bench with another module path"

	proxy=$work/proxy/$path/@v
	mkdir -p "$proxy"
	git -C "$copy" show HEAD:go.mod >"$proxy/$version.mod"
	git -C "$copy" archive --format=zip --prefix="$path@$version/" -o "$proxy/$version.zip" HEAD -- . ':!bench' ':!tools' ':!cmd/troupe/testdata/module'
	printf '{"Version":"%s","Time":"%s"}' "$version" "$(TZ=UTC0 git -C "$copy" show -s --date=format-local:%Y-%m-%dT%H:%M:%SZ --format=%cd HEAD)" >"$proxy/$version.info"
	echo "$version" >"$proxy/list"
	cache=$(go env GOMODCACHE)/cache/download
	(
		cd "$work"
		export GOBIN=$work/gobin GOMODCACHE=$work/modcache GOPROXY=file://$work/proxy,file://$cache GONOSUMDB='*' GOFLAGS='-modcacherw -trimpath' GOWORK=off CGO_ENABLED=0
		go install $path/cmd/troupe@$version
	)
	local said
	said=$("$work/gobin/troupe" version)
	[[ $said == "troupe $version "* ]] || fail "go install made $said"
	go version -m "$work/gobin/troupe" | grep "mod.$path.$version" >/dev/null || fail "the program is of another module"
	echo "release-check: module: go install $path/cmd/troupe@$version made $said"
}

ways=("$@")
((${#ways[@]})) || ways=(contents tarball deb source npm module)
for way in "${ways[@]}"; do
	"check_$way"
done
