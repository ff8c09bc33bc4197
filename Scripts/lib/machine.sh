# shellcheck shell=bash
# A new Debian for the scripts that try something in one: a directory with namespaces of its own, which is
# removed at the end, also after a failure or Ctrl-C. Sourced after setup.sh, not run.
#
# A script first calls `calls_itself "$@"`, because it calls itself for a time limit around what it runs, then
# `prepare_machine NAME GIB`. After that, folder is a new directory, and folder/debian is for the machine.

machine_script=$(realpath -- "$0")

# enter FOLDER COMMAND…: runs a command in the machine. This process is the first of new namespaces: all that
# it starts and all mounts end with it.
enter() {
    local folder=$1 machine=$1/debian directory place
    shift
    mount --bind "$machine" "$machine"
    mount -t proc proc "$machine/proc"
    mount --rbind /sys "$machine/sys"
    mount --rbind /dev "$machine/dev"
    mount -t tmpfs -o mode=1777,nosuid,nodev tmpfs "$machine/dev/shm"
    while IFS= read -r -d '' directory && IFS= read -r -d '' place; do
        mount --bind "$directory" "$machine$place"
        mount -o remount,bind,ro "$machine$place"
    done <"$folder/mounts"
    # Not chroot: the kernel refuses some namespaces to programs in one.
    mkdir -p "$machine/.old"
    cd -- "$machine"
    pivot_root . .old
    cd /
    umount -l /.old
    # The shell stays, as the machine's first process: some signals do not reach that one.
    exec env -i HOME=/root LANG=C.UTF-8 TERM=dumb DEBIAN_FRONTEND=noninteractive \
        PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
        ${http_proxy:+"http_proxy=$http_proxy"} ${https_proxy:+"https_proxy=$https_proxy"} \
        ${no_proxy:+"no_proxy=$no_proxy"} \
        sh -c 'cd /srv/coffer 2>/dev/null || cd /; "$@"; exit "$?"' sh "$@"
}

# calls_itself ARGUMENT…: the two ways in which the script calls itself. Returns otherwise.
calls_itself() {
    case ${1:-} in
    --contained)
        shift
        exec unshare --mount --propagation private --pid --fork --kill-child --mount-proc -- "$@"
        ;;
    --in)
        shift
        enter "$@"
        ;;
    esac
}

folder='' worker=''
# Ends what runs, then removes the machine. Its mounts were in namespaces that are gone; this makes sure.
# shellcheck disable=SC2317,SC2329 # a trap calls it
clean_up() {
    local caller
    trap '' INT TERM HUP
    if [[ -n $worker ]]; then
        # The worker is a shell, its child the time limit, and the child of that owns the namespaces.
        for caller in $(pgrep -P "$worker" || true); do
            pkill -KILL -P "$caller" || true
        done
        wait "$worker" 2>/dev/null || true
        worker=''
    fi
    [[ -n $folder ]] || return 0
    if grep -qF " $folder/" /proc/self/mounts; then
        umount -R -- "$folder/debian" || fail "Something is still mounted in $folder, which stays."
    fi
    say "removing $folder"
    # What was killed may take a moment to go.
    rm -rf --one-file-system -- "$folder" 2>/dev/null || sleep 2
    rm -rf --one-file-system -- "$folder"
}

say() { printf '==> %s\n' "$*" >&2; }

# limited SECONDS COMMAND…: a step in namespaces of its own. In the background: while it waits, the shell
# hears of signals; while a command runs in the foreground, it does not.
limited() {
    local limit=$1 status=0
    shift
    step "$limit" "$machine_script" --contained "$@" &
    worker=$!
    wait "$worker" || status=$?
    worker=''
    return "$status"
}

# inside SECONDS COMMAND…: a step in the machine.
inside() {
    local limit=$1
    shift
    limited "$limit" "$machine_script" --in "$folder" "$@"
}

# quietly COMMAND…: shows what the command prints only if it fails, and ends the script then.
quietly() {
    "$@" >"$folder/log" 2>&1 && return
    tail -n 40 "$folder/log" >&2
    fail 'The machine could not be made.'
}

# share DIRECTORY PLACE: has a directory of this machine mounted, read-only, in the new one.
share() {
    mkdir -p -- "$folder/debian$2"
    printf '%s\0%s\0' "$(realpath -- "$1")" "$2" >>"$folder/mounts"
}

# Where packages come from, and which directories git is told to trust, as git has it configured here.
share_git_configuration() {
    local entry key value base
    local -A lent=()
    while IFS= read -r -d '' entry; do
        key=${entry%%$'\n'*}
        value=${entry#*$'\n'}
        git config --file "$folder/debian/etc/gitconfig" --add "$key" "$value"
        [[ $key == url.* ]] || continue
        base=${key#url.}
        base=${base%.insteadof}
        base=${base#file://}
        # Several entries may name one directory; other bases are addresses.
        [[ $base == /* && -d $base && -z ${lent[$base]:-} ]] || continue
        lent[$base]=yes
        say "sharing $base, where git has packages come from"
        share "$base" "$base"
    done < <(git -C / config -z --get-regexp '^(url\..*\.insteadof|safe\.directory)$' || true)
}

# make_debian RELEASE: a Debian with nothing but its base, apt and what certificates need.
make_debian() {
    mkdir "$folder/debian"
    say "making Debian $1 in $folder"
    quietly limited 1800 debootstrap --variant=minbase --include=ca-certificates "$1" "$folder/debian" \
        "${DEBIAN_MIRROR:-http://deb.debian.org/debian}"
    # No package starts a service here.
    printf '#!/bin/sh\nexit 101\n' >"$folder/debian/usr/sbin/policy-rc.d"
    chmod 755 "$folder/debian/usr/sbin/policy-rc.d"
    apt-config dump Acquire::http::Proxy Acquire::https::Proxy >"$folder/debian/etc/apt/apt.conf.d/90proxy"
}

# prepare_machine NAME GIB: sets folder, and sees to its removal.
prepare_machine() {
    local parent=${TMPDIR:-/tmp} free
    [[ $(id -u) -eq 0 ]] || fail 'Only root can make a machine: run this script as root.'
    free=$(df -BG --output=avail -- "$parent" | tail -n 1 | tr -dc 0-9)
    [[ $free -ge $2 ]] || fail "$parent has $free GiB free; the machine needs $2 GiB."
    install_packages debootstrap debian-archive-keyring util-linux procps
    trap clean_up EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP
    folder=$(mktemp -d -- "$parent/$1.XXXXXX")
    : >"$folder/mounts"
}
