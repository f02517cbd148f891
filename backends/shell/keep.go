package shell

import "strings"

// Under set -e a shell ends with the first command that fails, and with it the session's
// state. With Options.KeepErrexit only the command ends. bash and zsh have a trap that runs
// where the shell would exit. There the trap has each function and each file return, up to
// the driver, which reports what happened (backends.LiveShell) and sets the option again. A
// subshell exits as ever. A trap of the user's on ERR replaces it. dash has no such trap.

// bashKeep changes the driver of bash. Functions inherit the trap by set -E. A trap of a
// driver is not seen to run under set -x.
var bashKeep = strings.NewReplacer(
	"  builtin trap __troupe_bye EXIT\n", `  builtin trap __troupe_bye EXIT

  # __troupe_fail says whether what failed is to return, under set -e. At the driver it is over.
  __troupe_x=''
  __troupe_fail() {
    __troupe_i=$1
    if [[ $- != *e* || $BASH_SUBSHELL != 0 ]]; then builtin return 1; fi
    if [[ ${BASH_SOURCE[1]-} == '@DIR@/driver' ]]; then
      builtin set +e
      __troupe_x=1
      if [[ $__troupe_n ]]; then builtin printf '\0%s errexit \0' "$__troupe_n" >>'@DIR@/st'; fi
      builtin return 1
    fi
  }
  builtin set -E
  builtin trap '{ if __troupe_fail "$?"; then builtin return "$__troupe_i"; fi; } 2>/dev/null' ERR
`,
	"while [[ x ]]; do\n  if __troupe ", `while [[ x ]]; do
  if [[ $__troupe_x ]]; then
    __troupe_x=''
    builtin set -e
  fi
  if __troupe `,
)

// zshKeep changes the driver of zsh. What the always part of a trap leaves as an error ends
// what runs, up to a file that is sourced. Within another than the command's, or in an eval, a
// trap on DEBUG ends what is around it before its next command. For that, zsh runs the trap on
// EXIT, and forgets it. Subshells have no such traps.
var zshKeep = strings.NewReplacer(
	"builtin trap __troupe_bye EXIT\n", `builtin trap __troupe_bye EXIT
typeset -g __troupe_x='' __troupe_v='' __troupe_w=''
builtin trap '__troupe_v=$?; if [[ -o errexit && -z $__troupe_g ]]; then {
  __troupe_x=$__troupe_v
  unsetopt errexit
  if [[ "${zsh_eval_context[4,-1]}" == *(file|eval)* ]]; then
    __troupe_w=1
    builtin trap "if [[ \${(%):-%x} != @DIR@/driver ]]; then { :; } always { TRY_BLOCK_ERROR=1; }; fi" DEBUG
  fi
} always { TRY_BLOCK_ERROR=1; }; fi' ZERR
`,
	"      if [[ $__troupe_p == 0 ]]; then\n", `      if [[ -n $__troupe_x ]]; then
        __troupe_x=''
        setopt errexit
      fi
      if [[ $__troupe_p == 0 ]]; then
`,
	"    if (( TRY_BLOCK_INTERRUPT )); then", `    if [[ -n ${__troupe_x#e} ]]; then
      if [[ -n $__troupe_w ]]; then
        builtin trap - DEBUG
        builtin trap __troupe_bye EXIT
      fi
      __troupe_s=$__troupe_x __troupe_x=e __troupe_w=''
      builtin printf '\0%s errexit \0' "$__troupe_n" >>'@DIR@/st' || builtin true
    fi
    if (( TRY_BLOCK_INTERRUPT )); then`,
)

// keeping returns the driver of a shell that stays when a command fails under set -e.
func (d *driver) keeping() *driver {
	if d.keep == nil {
		return d
	}
	k := *d
	k.script = d.keep.Replace(d.script)
	return &k
}
