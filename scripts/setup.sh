#!/bin/sh
# Prepares .venv: `setup.sh run` for the server, `setup.sh checks` for the tests as well, `setup.sh soak`
# for the long ones; `setup.sh peers` prepares .venv-peers, the other queues that are measured.
# `node` prepares node_modules, what emulates and deploys, and `cloud` .venv-cloud, an emulator of AWS.
# `offline` is `run` and `node`; `test` is `checks`, `node` and `cloud`.
# What the machine lacks is named at once, with the command that brings it.
set -eu

lacks() {
    echo "queuelog: this machine lacks $1. On Debian: $2" >&2
    exit 1
}

purpose=$1
python=
for candidate in python3 python3.14 python3.13 python3.12 python3.11; do
    # Shims of version managers exist without working, so a candidate has to run.
    if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
        python=$candidate
        break
    fi
done
[ -n "$python" ] || lacks "Python 3.11 or newer" "apt-get install python3 python3-venv python3-pip"
"$python" -c 'import ensurepip, venv' 2>/dev/null ||
    lacks "venv and pip for $python" "apt-get install python3-venv python3-pip"

case $purpose in
test | checks)
    command -v git >/dev/null || lacks "git" "apt-get install git"
    command -v strace >/dev/null || lacks "strace" "apt-get install strace"
    command -v faketime >/dev/null || lacks "faketime" "apt-get install faketime"
    ;;
esac
case $purpose in
test | offline | node)
    node -e 'const [a, b] = process.versions.node.split("."); process.exit(+a > 20 || (+a == 20 && +b >= 19) ? 0 : 1)' \
        2>/dev/null || lacks "node 20.19 or newer" "apt-get install nodejs"
    command -v npm >/dev/null || lacks "npm" "apt-get install npm"
    ;;
esac

environment=.venv
marker=$purpose
serves="$purpose"
case $purpose in
run | offline) set -- -r requirements.txt && marker=run && serves="run test soak" ;;
test | checks) set -- -r requirements.txt -r requirements-dev.txt && marker=test && serves="test soak" ;;
soak) set -- -r requirements.txt -r requirements-dev.txt -r requirements-soak.txt ;;
peers) set -- -r requirements-peers.txt && environment=.venv-peers ;;
node | cloud) ;;
*) lacks "a purpose called $purpose" "sh scripts/setup.sh run" ;;
esac

python_packages() {
    # The place counts too: an environment that was moved points to where it came from.
    wanted=$({ pwd; cat requirements*.txt constraints.txt pyproject.toml; } | cksum | tr ' ' -)
    for done in $serves; do
        [ "$(cat "$environment/installed-$done" 2>/dev/null)" != "$wanted" ] || return 0
    done

    echo "queuelog: installing into $environment" >&2
    # One that was interrupted while it was made has no pip.
    "$environment/bin/python" -c 'import pip' 2>/dev/null || "$python" -m venv --clear "$environment"
    # To compile all of it takes as long as the rest; what is used of it is compiled when it is.
    "$environment/bin/python" -m pip install --quiet --disable-pip-version-check --no-compile \
        -c constraints.txt "$@"
    [ "$purpose" = peers ] ||
        "$environment/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps -e .
    echo "$wanted" >"$environment/installed-$marker"
}

cloud_packages() {
    wanted=$({ pwd; cat requirements-cloud.txt; } | cksum | tr ' ' -)
    [ "$(cat .venv-cloud/installed-cloud 2>/dev/null)" != "$wanted" ] || return 0

    echo "queuelog: installing into .venv-cloud" >&2
    # The emulator wants other versions of what the tests' own tools are built on.
    "$python" -m venv --clear --without-pip .venv-cloud
    .venv/bin/python -m pip --python .venv-cloud/bin/python install --quiet \
        --disable-pip-version-check --no-deps -r requirements-cloud.txt
    echo "$wanted" >.venv-cloud/installed-cloud
}

node_packages() {
    wanted=$(cat package.json package-lock.json | cksum | tr ' ' -)
    [ "$(cat node_modules/installed 2>/dev/null)" != "$wanted" ] || return 0

    echo "queuelog: installing into node_modules" >&2
    # It begins by deleting node_modules, so one that was interrupted is not taken for a whole one.
    npm ci --loglevel=error >/dev/null
    echo "$wanted" >node_modules/installed
}

case $purpose in
node | cloud) ;;
*) python_packages "$@" ;;
esac
case $purpose in
test | offline | node) node_packages ;;
esac
case $purpose in
test | cloud) cloud_packages ;;
esac
