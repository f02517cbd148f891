# The driver of a zsh on pipes, a script: precmd is not run again behind an interrupt.
# TRAPINT lets an interrupt through, but for one that comes late for the command before.
# In the text of a command it ends that. Beside it, it ends the loop below, and the file:
# whoever sourced it does so again, and goes on where this was. A trap mars what printf is
# writing ("_" in place of the first byte): what is reported then is reported again.
if [[ ! -v __troupe_u ]]; then
typeset -g __troupe_n='' __troupe_s=0 __troupe_p=0 __troupe_k=0 __troupe_m=0 __troupe_c='' __troupe_f='' __troupe_g='' __troupe_i=''
__troupe_r() { builtin return "$1"; }
if [[ -s '@DIR@/kept0' || -s '@DIR@/kept1' ]]; then
  typeset -g __troupe_t=${TROUPE_TREE-} __troupe_o=$IFS __troupe_v
  # Of the two that were kept the newest counts that is whole.
  for __troupe_f in 0 1 0; do
    for __troupe_v in ${(k)parameters[(R)*export*]}; do builtin unset "$__troupe_v"; done
    __troupe_w=0
    builtin . "@DIR@/kept$__troupe_f"
    if [[ $__troupe_w -gt $__troupe_k ]]; then __troupe_k=$__troupe_w __troupe_c=$__troupe_f; fi
    if [[ $__troupe_f == 1 && $__troupe_c == 1 ]]; then break; fi
  done
  if [[ -n $__troupe_t ]]; then builtin export TROUPE_TREE="$__troupe_t"; else builtin unset TROUPE_TREE; fi
  if [[ ! -v IFS ]]; then IFS=$__troupe_o; fi
  builtin unset __troupe_o __troupe_t __troupe_v __troupe_w
fi 2>/dev/null
if [[ -s '@DIR@/start' ]]; then builtin . '@DIR@/start'; fi
# An exit in a command tells where that is: its successor is to have what it has changed.
__troupe_keep() {
  __troupe_k=$((__troupe_k + 1))
  { builtin export -p; builtin printf '__troupe_w=%s; return 0\n' "$__troupe_k"; } 1<>"@DIR@/kept$((__troupe_k % 2))" || builtin true
}
__troupe_bye() {
  if [[ -n $__troupe_n ]]; then
    builtin printf '\0%s run %s\0' "$__troupe_n" "${PWD-}" >>'@DIR@/st'
    __troupe_keep
  fi
} 2>/dev/null
builtin trap __troupe_bye EXIT
TRAPINT() { __troupe_i=1; if [[ -n $__troupe_g ]]; then return 0; fi; return 130 }
builtin printf '\0ready 0 %s\0' "${PWD-}" >>'@DIR@/st'
__troupe_g=1 __troupe_u=1
fi
while [[ -n x ]]; do
  {
    if (( ${+functions[builtin]} )); then unfunction builtin; fi
    builtin exec 0</dev/null 1>/dev/null 2>&1
    if [[ -n $__troupe_n ]]; then
      __troupe_i=1
      while [[ -n $__troupe_i ]]; do
        __troupe_i=''
        builtin printf '\0%s %s %s\0' "$__troupe_n" "$__troupe_s" "${PWD-}" >>'@DIR@/st' || builtin exit "$__troupe_s"
      done
      __troupe_n='' __troupe_p=$__troupe_s
      __troupe_keep
    fi
    IFS= builtin read -r __troupe_n <'@DIR@/ctl' || __troupe_n=''
    __troupe_s=130 __troupe_c=${__troupe_n#????????????????} __troupe_n=${__troupe_n%?}
    __troupe_f='@DIR@/text'
    if [[ $__troupe_c == [ntNT] ]]; then __troupe_f="@DIR@/$__troupe_n"; fi
    if [[ $__troupe_c == y ]]; then # an interrupt that was sent before has come by now
      __troupe_n='' __troupe_i=1
      while [[ -n $__troupe_i ]]; do
        __troupe_i=''
        builtin printf '\0sync 0 \0' >>'@DIR@/st'
      done
    elif [[ -n $__troupe_c && -f $__troupe_f ]]; then
      __troupe_m=0 __troupe_g=''
      if [[ $__troupe_c == [MSNT] ]]; then
        builtin exec 0<"@DIR@/$__troupe_n.in"
        builtin printf '\0%s run %s\0' "$__troupe_n" "${PWD-}" >>'@DIR@/st'
      fi
      if [[ $__troupe_c == [stST] ]]; then
        builtin exec 1>'@DIR@/out' 2>'@DIR@/err'
      else
        builtin exec 1>'@DIR@/out' 2>&1
      fi
      if [[ $__troupe_p == 0 ]]; then
        builtin . "$__troupe_f"
      else
        __troupe_r "$__troupe_p" || builtin . "$__troupe_f"
      fi
      __troupe_s=$?
    elif [[ -n $__troupe_n || ! -p '@DIR@/ctl' || $__troupe_m -gt 99 ]]; then
      builtin exit 125
      exit 125 # builtin is a function, and unfunction another
    else
      __troupe_m=$((__troupe_m + 1))
    fi
  } always {
    __troupe_g=1
    if (( TRY_BLOCK_INTERRUPT )); then __troupe_s=130; fi
    if (( TRY_BLOCK_ERROR > 0 && __troupe_s == 0 )); then __troupe_s=1; fi
    TRY_BLOCK_ERROR=0 TRY_BLOCK_INTERRUPT=0
  }
done
