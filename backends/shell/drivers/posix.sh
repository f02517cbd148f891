# The driver of a dash, or of another shell that knows no more than POSIX, on pipes. It
# runs each command in a function, so that an interrupted one can return from it. An
# interrupt between two turns ends the file: whoever sourced it does so again.
if [ -z "${__troupe_u-}" ]; then
__troupe_i='' __troupe_n='' __troupe_l='' __troupe_s=0 __troupe_p=0 __troupe_k=0 __troupe_c=''
__troupe_r() { return "$1"; }
__troupe_read() {
  IFS= command read -r __troupe_n <'@DIR@/ctl'
}
__troupe_run() {
  if [ "$__troupe_p" = 0 ]; then
    command . "$__troupe_f"
  else
    __troupe_r "$__troupe_p" || command . "$__troupe_f"
  fi
}
__troupe_keep() {
  __troupe_k=$((__troupe_k + 1))
  { export -p; command printf '__troupe_w=%s; return 0\n' "$__troupe_k"; } 1<>"@DIR@/kept$((__troupe_k % 2))" || :
}
# An exit in a command tells where that is: its successor is to have what it has changed.
__troupe_bye() {
  if [ -n "$__troupe_n" ]; then
    command printf '\0%s run %s\0' "$__troupe_n" "${PWD-}" >>'@DIR@/st'
    __troupe_keep
  fi
} 2>/dev/null
__troupe_turn() {
  command exec 0</dev/null 1>/dev/null 2>&1
  \unset -f command printf read [ 2>/dev/null || :
  case $__troupe_n in # an interrupt came when it had been read, and not been looked at
  ????????????????y) command printf '\0sync 0 \0' >>'@DIR@/st' || :; __troupe_n='' ;;
  ?????????????????) __troupe_s=130 __troupe_n=${__troupe_n%?} ;;
  esac
  if [ -n "$__troupe_n" ]; then
    command printf '\0%s %s %s\0' "$__troupe_n" "$__troupe_s" "${PWD-}" >>'@DIR@/st' || exit "$__troupe_s"
    __troupe_l=$__troupe_n __troupe_n='' __troupe_p=$__troupe_s
    __troupe_keep
  fi
  if __troupe_read; then
    if [ "${__troupe_n%?}" = "$__troupe_l" ]; then __troupe_n=''; fi # it was told twice
  else
    __troupe_n='' # what was read is lost with an interrupt
    command printf '\0again 0 \0' >>'@DIR@/st' || :
  fi
  if [ -z "$__troupe_n" ]; then
    if [ -p '@DIR@/ctl' ]; then return 0; else exit 125; fi
  fi
  __troupe_s=130 __troupe_c=${__troupe_n#????????????????} __troupe_n=${__troupe_n%?}
  case $__troupe_c in
  [msMS]) __troupe_f='@DIR@/text' ;;
  [ntNT]) __troupe_f="@DIR@/$__troupe_n" ;;
  *) # an interrupt that was sent before has come by now, or this is the rest of a line that one has cut
    if [ "$__troupe_c" = y ]; then command printf '\0sync 0 \0' >>'@DIR@/st' || :; fi
    __troupe_n=''
    return 0
    ;;
  esac
  [ -f "$__troupe_f" ] || exit 125
  case $__troupe_c in [MSNT])
    command exec 0<"@DIR@/$__troupe_n.in" || exit 125
    command printf '\0%s run %s\0' "$__troupe_n" "${PWD-}" >>'@DIR@/st' || exit 125
  esac
  case $__troupe_c in
  [stST]) command exec 1>'@DIR@/out' 2>'@DIR@/err' || exit 125 ;;
  *) command exec 1>'@DIR@/out' 2>&1 || exit 125 ;;
  esac
  __troupe_i=''
  __troupe_run
  __troupe_s=${__troupe_i:-$?}
}
if [ -s '@DIR@/kept0' ] || [ -s '@DIR@/kept1' ]; then
  __troupe_t=${TROUPE_TREE-} __troupe_o=$IFS
  # Of the two that were kept the newest counts that is whole.
  for __troupe_f in 0 1 0; do
    IFS=$__troupe_o
    for __troupe_v in $(export -p | command -p sed -n 's/^export \([A-Za-z_][A-Za-z0-9_]*\).*/\1/p'); do unset "$__troupe_v"; done
    __troupe_w=0
    command . "@DIR@/kept$__troupe_f"
    if [ "$__troupe_w" -gt "$__troupe_k" ]; then __troupe_k=$__troupe_w __troupe_c=$__troupe_f; fi
    if [ "$__troupe_f$__troupe_c" = 11 ]; then break; fi
  done
  if [ -n "$__troupe_t" ]; then export TROUPE_TREE="$__troupe_t"; else unset TROUPE_TREE; fi
  if [ -z "${IFS+x}" ]; then IFS=$__troupe_o; fi
  unset __troupe_o __troupe_t __troupe_v __troupe_w
fi 2>/dev/null
if [ -s '@DIR@/start' ]; then command . '@DIR@/start'; fi
trap __troupe_bye EXIT
trap '__troupe_i=130; return 130' INT # the status of an interrupted text is not sure to be that
command printf '\0ready 0 %s\0' "${PWD-}" >>'@DIR@/st'
__troupe_u=1
fi
while :; do
  __troupe_turn
done
