# shellcheck shell=bash
# Gets SQLite's sources and newer releases, for the scripts that run tests with them. Sourced, not run.
# shellcheck source-path=SCRIPTDIR source=debian-source.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/debian-source.sh"

# fetch_sqlite DIRECTORY RELEASE: Debian's source package sqlite3 of a release, unpacked in DIRECTORY/source
# and configured in DIRECTORY/build; once.
fetch_sqlite() {
    local directory=$1 release=$2
    [[ ! -f $directory/build/Makefile ]] || return 0
    debian_source "$directory" "$release" sqlite3
    rm -rf -- "$directory/build"
    mkdir "$directory/build"
    (cd -- "$directory/build" && step 300 ../source/configure --with-tcl=/usr/lib/tcl8.6 >/dev/null)
}
