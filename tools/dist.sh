#!/usr/bin/env bash
# Builds what a release has, for Linux on amd64 and arm64, into dist/: tarballs, Debian packages,
# npm packages and their checksums. The same commit gives the same bytes: times are those of the
# commit. NPM_SCOPE names the owner of the npm packages.
set -euo pipefail
cd "$(dirname "$0")/.."
umask 022
scope=${NPM_SCOPE:-@troupe}

described=$(git describe --tags --match 'v[0-9]*' --dirty 2>/dev/null || echo "v0.0.0-g$(git rev-parse --short=12 HEAD)")
version=${described#v}
SOURCE_DATE_EPOCH=$(git show -s --format=%ct HEAD)
DEB_VERSION=$version # a pre-release, as v0.1.0-rc1, is before its release; what git describes is after its tag
[[ $version =~ ^[0-9.]+(-[0-9]+)?-g ]] && DEB_VERSION=${version/-/+} || DEB_VERSION=${version/-/\~}
DEB_VERSION=${DEB_VERSION//-/.}
export SOURCE_DATE_EPOCH DEB_VERSION

rm -rf dist
mkdir -p dist
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# packed FILE DIR NAME makes a compressed archive of what is in a directory, under that name. It has files
# alone: an entry of a directory would change the mode and the owner of one that is there.
packed() {
	local file=$1 dir=$2 name=$3
	(cd "$dir" && find "$name" ! -type d -print0 | LC_ALL=C sort -z) |
		tar -C "$dir" --null --no-recursion -T - --owner=0 --group=0 --numeric-owner --mode='u+rwX,go+rX,go-w' --mtime="@$SOURCE_DATE_EPOCH" --format=gnu -cf - |
		gzip -9n >"$file"
}

# staged DIR PREFIX ARCH puts what make install puts there.
staged() {
	make -s install DESTDIR="$1" PREFIX="$2" UNITDIR="$2/lib/systemd/user" BIN="$work/troupe-$3"
	install -D -m 644 -t "$1$2/share/doc/troupe" README.md CHANGELOG.md LICENSE
	gzip -9n "$1$2"/share/man/man*/*
}

make -s build man
for arch in amd64 arm64; do
	CGO_ENABLED=0 GOARCH=$arch make -s build OUT="$work/troupe-$arch"

	name=troupe-$version-linux-$arch
	staged "$work/$name" "" "$arch"
	sed -i 's|^ExecStart=/bin/troupe |ExecStart=/usr/local/bin/troupe |' "$work/$name/lib/systemd/user/troupe.service"
	packed "dist/$name.tar.gz" "$work" "$name"

	staged "$work/deb-$arch" /usr "$arch"
	mv "$work/deb-$arch/usr/share/doc/troupe/LICENSE" "$work/deb-$arch/usr/share/doc/troupe/copyright"
	find "$work/deb-$arch" -exec touch -hd "@$SOURCE_DATE_EPOCH" {} +
	ARCH=$arch ROOT=$work/deb-$arch go -C tools/dist tool nfpm package -f nfpm.yaml -p deb -t "$PWD/dist/troupe_${DEB_VERSION}_$arch.deb" >/dev/null

	cpu=${arch/amd64/x64}
	package=$work/npm-$arch/package
	install -D -m 755 "$work/troupe-$arch" "$package/bin/troupe"
	install -m 644 LICENSE "$package"
	cat >"$package/package.json" <<-JSON
		{
		  "name": "$scope/troupe-linux-$cpu",
		  "version": "$version",
		  "description": "The program of the package troupe, for Linux on $cpu",
		  "license": "Apache-2.0",
		  "os": ["linux"],
		  "cpu": ["$cpu"],
		  "files": ["bin"],
		  "preferUnplugged": true
		}
	JSON
	packed "dist/npm-troupe-linux-$cpu-$version.tgz" "$work/npm-$arch" package
done

package=$work/npm/package
mkdir -p "$work/npm"
cp -r contrib/npm "$package"
install -m 644 LICENSE "$package"
sed -i -e "s|\"0\.0\.0\"|\"$version\"|; s|\"@troupe/|\"$scope/|" "$package/package.json"
packed "dist/npm-troupe-$version.tgz" "$work/npm" package

(cd dist && sha256sum -- * >"$work/sums" && mv "$work/sums" SHA256SUMS)
ls -l dist
