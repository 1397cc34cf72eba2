#!/usr/bin/env bash
# Runs the Dockerfile's steps on the last commit without Docker: each stage is a minimal Debian 12 in a folder of
# build/stages. Then a model is saved in the stage `python` and run by a C program in the stage `deploy`. Says how large
# the stages are. Needs root and debootstrap.
#
#   scripts/try-dockerfile.sh                 TANDEM_STAGES says where the stages go; what is there is removed first
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/chroot.sh
stages=${TANDEM_STAGES:-$PWD/build/stages}
rm -rf "$stages"
mkdir -p "$stages/context"
git archive HEAD | tar -x -C "$stages/context"
chroot_make "$stages/base" bookworm ca-certificates

size() { # MB of what is on the disk, without what is mounted
  du -xsm --exclude=./proc --exclude=./dev "$1" | cut -f1
}

stage= folder=/
step() { # one instruction of the Dockerfile
  local words from target
  read -ra words <<<"$2"
  case $1 in
    FROM)
      chroot_close
      stage=${words[2]} folder=/
      echo "== stage $stage"
      cp -a "$stages/base" "$stages/$stage"
      chroot_open "$stages/$stage"
      ;;
    WORKDIR) folder=$2 && mkdir -p "$stages/$stage$folder" ;;
    COPY)
      from=$stages/context
      if [[ ${words[0]} == --from=* ]]; then from=$stages/${words[0]#--from=} words=("${words[@]:1}"); fi
      target=${words[1]}
      [[ $target == /* ]] || target=$folder/$target
      mkdir -p "$stages/$stage$target"
      # A folder's content, or files that a pattern names.
      # shellcheck disable=SC2086
      if [ -d "$from/${words[0]}" ]; then cp -a "$from/${words[0]}/." "$stages/$stage$target"; else cp -a $from/${words[0]} "$stages/$stage$target"; fi
      ;;
    RUN) chroot_run "$stages/$stage" "cd $folder && $2" ;;
    ENV | CMD) ;;
    *) echo "try-dockerfile.sh does not know $1" >&2 && exit 1 ;;
  esac
}
# Without -r: a line that ends in a backslash goes on.
# shellcheck disable=SC2162
while read line; do
  case $line in '' | '#'*) ;; *) step "${line%% *}" "${line#* }" ;; esac
done <Dockerfile
chroot_close

echo "== the stage python: a model is saved"
python=$stages/python
chroot_open "$python"
mkdir -p "$python/root/try"
cat >"$python/root/try/save.py" <<'END'
import tandem
from tandem import nn

tandem.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
x = tandem.ones(1, 4)
tandem.export.save(tandem.export.export(model, (x,)), "model.tandem")
print(" ".join(f"{v:.9g}" for v in model(x).tolist()[0]))
END
expected=$(chroot_run "$python" "cd /root/try && /opt/venv/bin/python save.py")
chroot_close
echo "size of the stage: $(size "$python") MB, of which Debian's minimal system is $(size "$stages/base") MB"

echo "== the stage deploy: a C program"
cat >"$stages/build/root/run.c" <<'END'
#include <stdio.h>
#include <tandem/program.h>

int main(void) {
  tandem_program* program = NULL;
  tandem_context* context = NULL;
  float x[4] = {1, 1, 1, 1}, y[2];
  if (tandem_program_open("/root/model.tandem", NULL, &program) != NULL) return 1;
  if (tandem_context_create(program, &context) != NULL) return 2;
  if (tandem_run(context, 0, (void*[]){x}, NULL, (void*[]){y}) != NULL) return 3;
  printf("%.9g %.9g\n", y[0], y[1]);
  return 0;
}
END
chroot_run "$stages/build" "gcc /root/run.c -I/opt/tandem/include -L/opt/tandem/lib -ltandem_runtime -o /root/run"
cp "$stages/build/root/run" "$python/root/try/model.tandem" "$stages/deploy/root/"
found=$(chroot "$stages/deploy" /root/run)
echo "Python's result: $expected, the C program's: $found"
[ "$expected" = "$found" ]
echo "size of the stage: $(size "$stages/deploy") MB, of which Debian's minimal system is $(size "$stages/base") MB"
