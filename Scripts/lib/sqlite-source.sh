# shellcheck shell=bash
# Gets SQLite's sources and newer releases, for the scripts that run tests with them. Sourced, not run.

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

# fetch_sqlite DIRECTORY RELEASE: Debian's source package sqlite3 of a release, unpacked in DIRECTORY/source
# and configured in DIRECTORY/build; once.
fetch_sqlite() {
    local directory=$1 release=$2
    [[ ! -f $directory/build/Makefile ]] || return 0
    mkdir -p "$directory"
    debian_apt "$directory" "$release" update
    debian_apt "$directory" "$release" source --download-only sqlite3
    rm -rf -- "$directory/source" "$directory/build"
    (cd -- "$directory" && dpkg-source --no-check -x sqlite3_*.dsc source >/dev/null)
    mkdir "$directory/build"
    (cd -- "$directory/build" && step 300 ../source/configure --with-tcl=/usr/lib/tcl8.6 >/dev/null)
}
