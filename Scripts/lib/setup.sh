# shellcheck shell=bash
# What the other scripts share: finding Swift, installing the system packages, running a step under a time
# limit. Sourced, not run.

# Prints a message to standard error and ends the script.
fail() {
    printf '%s\n' "$*" >&2
    exit 1
}

# Puts `swift` on PATH: as it is, or from one of the places where installers leave it.
find_swift() {
    command -v swift >/dev/null && return
    local place
    for place in /opt/swift/usr/bin "${HOME:-}/.local/share/swiftly/bin" /usr/share/swift/usr/bin; do
        if [[ -x $place/swift ]]; then
            PATH=$place:$PATH
            export PATH
            return
        fi
    done
    fail 'Swift was not found. Install Swift 6.2 or later and put it on PATH:' \
        'https://www.swift.org/install/linux/'
}

# Prints those of the named packages that are not installed.
missing_packages() {
    local package
    for package in "$@"; do
        [[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) == installed ]] ||
            printf '%s\n' "$package"
    done
}

# Installs what is missing of the named packages, or says what to install and fails.
install_packages() {
    command -v dpkg-query >/dev/null || {
        printf 'Not Debian or Ubuntu: these packages, or their like, must be there: %s\n' "$*" >&2
        return
    }
    local missing=() become=()
    mapfile -t missing < <(missing_packages "$@")
    [[ ${#missing[@]} -gt 0 ]] || return 0
    if [[ $(id -u) -ne 0 ]]; then
        command -v sudo >/dev/null && sudo -n true 2>/dev/null ||
            fail "These packages are missing: ${missing[*]}. As root: apt-get install ${missing[*]}"
        become=(sudo -n)
    fi
    printf 'Installing %s\n' "${missing[*]}" >&2
    # Some mirrors of an image are stale or gone; the installation itself says whether something is missing.
    "${become[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -q </dev/null >&2 || true
    "${become[@]}" env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -q --no-install-recommends "${missing[@]}" </dev/null >&2 ||
        fail "These packages could not be installed: ${missing[*]}"
}

# build_tests ARGUMENT…: builds the tests. In CI, where all is built from nothing, the compiler reads each
# module once as a whole, which takes a third less processor time, and writes nothing for debuggers. After a
# change, a build of single files takes less.
build_tests() {
    local whole=()
    [[ -z ${CI-} ]] || whole=(-Xswiftc -wmo -Xswiftc -num-threads -Xswiftc 2 -debug-info-format none)
    step 3600 swift build --build-tests "${whole[@]}" "$@"
}

# step SECONDS COMMAND…: announces the command, runs it under a time limit, away from the terminal, and says
# how long it took. The package manager passes the traits to the compiler in the order of a set, which changes
# from run to run, and with it every command: a build repeats what is built unless hashing is deterministic.
step() {
    local limit=$1 start=$SECONDS status=0 same=()
    shift
    printf '==> %s\n' "$*" >&2
    [[ "$1 ${2-}" != 'swift build' ]] || same=(env SWIFT_DETERMINISTIC_HASHING=1)
    timeout -k 30 "$limit" "${same[@]}" "$@" </dev/null || status=$?
    printf '==> %s s: %s\n' "$((SECONDS - start))" "$1${2:+ $2}" >&2
    return "$status"
}
