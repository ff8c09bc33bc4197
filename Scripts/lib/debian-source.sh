# shellcheck shell=bash
# Gets source packages of Debian, for the scripts that run other projects' tests. Sourced, not run.

# debian_apt DIRECTORY RELEASE ARGUMENT…: apt-get for a release of Debian with lists of its own, so that the
# machine's configuration stays as it is.
debian_apt() {
    local directory=$1 release=$2 keyring=/usr/share/keyrings/debian-archive-keyring.gpg
    shift 2
    mkdir -p "$directory/lists/partial" "$directory/cache/archives/partial"
    printf 'deb-src [signed-by=%s] http://deb.debian.org/debian %s main\n' "$keyring" "$release" \
        >"$directory/sources.list"
    (cd -- "$directory" && timeout 300 apt-get -q \
        -o Dir::Etc::sourcelist="$directory/sources.list" -o Dir::Etc::sourceparts=- \
        -o Dir::State::lists="$directory/lists" -o Dir::Cache="$directory/cache" "$@" </dev/null >&2)
}

# debian_source DIRECTORY RELEASE PACKAGE: a source package of a release, unpacked in DIRECTORY/source.
debian_source() {
    local directory=$1 release=$2 package=$3
    mkdir -p "$directory"
    debian_apt "$directory" "$release" update
    debian_apt "$directory" "$release" source --download-only "$package"
    rm -rf -- "$directory/source"
    (cd -- "$directory" && dpkg-source --no-check -x "${package}"_*.dsc source >/dev/null)
}
