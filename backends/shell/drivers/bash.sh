# The driver of a bash on pipes. The shell sources it as PROMPT_COMMAND, at the top
# level: whatever throws the shell there, ^C or an error, leads here again. Commands are
# sourced at the top level, too, where declare makes no variable of a function; all else
# is in a function, of which traps do not hear. What a trap on EXIT writes is the output
# of the command, its errors are nobody's: the shell has let go of them by then.
__troupe_s=$?
if [[ ! ${__troupe_n+x} ]]; then
  builtin export -n PROMPT_COMMAND
  builtin unset HISTFILE
  __troupe_n='' __troupe_l='' __troupe_p=0 __troupe_k=0 __troupe_m=0 __troupe_c='' __troupe_e='' __troupe_f='' __troupe_g='' __troupe_h='' __troupe_z=18
  if [[ -s '@DIR@/kept0' || -s '@DIR@/kept1' ]]; then
    __troupe_t=${TROUPE_TREE-} __troupe_o=$IFS
    # Of the two that were kept the newest counts that is whole.
    for __troupe_f in 0 1 0; do
      IFS=$__troupe_o
      for __troupe_v in $(builtin compgen -e); do builtin unset "$__troupe_v"; done
      __troupe_w=0
      builtin . "@DIR@/kept$__troupe_f"
      if [[ $__troupe_w -gt $__troupe_k ]]; then __troupe_k=$__troupe_w __troupe_c=$__troupe_f; fi
      if [[ $__troupe_f == 1 && $__troupe_c == 1 ]]; then builtin break; fi
    done
    if [[ $__troupe_t ]]; then builtin export TROUPE_TREE="$__troupe_t"; else builtin unset TROUPE_TREE; fi
    if [[ ! ${IFS+x} ]]; then IFS=$__troupe_o; fi
    builtin unset __troupe_o __troupe_t __troupe_v __troupe_w
  fi 2>/dev/null
  if [[ -s '@DIR@/start' ]]; then builtin . '@DIR@/start'; fi

  # __troupe_unread is for a read of nothing: a builtin is a function now, by which the
  # report may have been lost. In posix mode unset is no function. It is one of its own
  # because the shell copies a function for each call.
  __troupe_unread() {
    if [[ $__troupe_n || ! -p '@DIR@/ctl' || $__troupe_m == 3 ]]; then
      builtin exit 125
      exit 125
      command kill -KILL "$$"
    fi
    __troupe_m=$((__troupe_m + 1))
    if [[ -o posix ]]; then
      \unset -f unset builtin command printf read exec export exit . return 2>/dev/null
    else
      POSIXLY_CORRECT=1
      \unset -f unset builtin command printf read exec export exit . return 2>/dev/null
      \unset POSIXLY_CORRECT
    fi
  }

  # What is seldom wanted is in functions of its own: the shell copies a function for each call.

  # __troupe_again says that the read was interrupted, and what it took is lost.
  __troupe_again() {
    __troupe_g='' __troupe_n='' __troupe_h='' __troupe_z=18
    builtin printf '\0again 0 \0' >>'@DIR@/st'
  }

  # __troupe_keep keeps what is exported for the shell's successor.
  __troupe_keep() {
    __troupe_k=$((__troupe_k + 1))
    { builtin export -p; builtin printf '__troupe_w=%s; builtin return 0\n' "$__troupe_k"; } 1<>"@DIR@/kept$((__troupe_k % 2))"
  }

  # __troupe_bye is for an exit in a command: its successor is to have what that has changed.
  __troupe_bye() {
    if [[ $__troupe_n ]]; then
      builtin printf '\0%s run %s\0' "$__troupe_n" "${PWD-}" >>'@DIR@/st'
      [[ ${__troupe_c-} == [ekEK] ]] || __troupe_keep
    fi
  } 2>/dev/null
  builtin trap __troupe_bye EXIT

  # __troupe_seldom takes what is no short text without an input. It fails if there is
  # nothing to run.
  __troupe_seldom() {
    if [[ $__troupe_c == y ]]; then # an interrupt that was sent before has come by now
      __troupe_n=''
      builtin printf '\0sync 0 \0' >>'@DIR@/st'
      builtin return 1
    fi
    if [[ ${__troupe_c#?} && $__troupe_n$__troupe_c == *$'\n'* ]]; then
      # An interrupted read took a part of a line: behind the rest of it the next begins.
      __troupe_h=$__troupe_n$__troupe_c __troupe_n=''
      __troupe_h=${__troupe_h#*$'\n'} __troupe_z=$((18 - ${#__troupe_h}))
      builtin return 1
    fi
    if [[ $__troupe_n && $__troupe_n == "$__troupe_l" ]]; then # it was told twice
      __troupe_n=''
      builtin return 1
    fi
    if [[ $__troupe_c == [ntNT] ]]; then __troupe_f="@DIR@/$__troupe_n"; fi
    if [[ ! $__troupe_c || ${__troupe_c#[ekmsntEKMSNT]} || ! -f $__troupe_f ]]; then
      __troupe_unread
      __troupe_n=$__troupe_l __troupe_s=$__troupe_p
      builtin return 1
    fi
    if [[ ! ${__troupe_c#[EKMSNT]} ]]; then
      command exec 0<"@DIR@/$__troupe_n.in"
      builtin printf '\0%s run %s\0' "$__troupe_n" "${PWD-}" >>'@DIR@/st'
    fi
  }

  # __troupe_loose is for a break or continue that is in no loop of its text: it has gone
  # on with ours, and the rest of the text was not run.
  __troupe_loose() {
    if [[ $2 != 0 ]]; then builtin return "$2"; fi
    builtin trap - DEBUG
    __troupe_s=1
    { builtin printf 'bash: %s: only meaningful in a loop: what stands behind it was not run\n' "$1" >&2; } 2>"$__troupe_e"
    builtin return 1
  }

  # __troupe reports the last command and waits for the next. It succeeds if the last did.
  __troupe() {
    if [[ $1 ]]; then
      __troupe_s=$1
    elif [[ $__troupe_n ]]; then
      __troupe_loose continue 0
    fi
    if [[ $__troupe_g ]]; then __troupe_again; fi
    while [[ x ]]; do
      builtin unset -f command # by a function the output would be lost
      command exec 1>&2 # which is /dev/null, as a rule
      if [[ $__troupe_n ]]; then
        builtin printf '\0%s %s %s\0' "$__troupe_n" "$__troupe_s" "${PWD-}" >>'@DIR@/st' || builtin exit "$__troupe_s"
        __troupe_l=$__troupe_n __troupe_n='' __troupe_p=$__troupe_s
        [[ ${__troupe_c-} == [ekEK] ]] || __troupe_keep
      fi
      command exec 0</dev/null 1>/dev/null 2>&1 # whatever the command made of them
      [[ ${PROMPT_COMMAND-} == ". '@DIR@/driver'" ]] || PROMPT_COMMAND=". '@DIR@/driver'"
      __troupe_g=1
      builtin read -r -N "$__troupe_z" __troupe_n <'@DIR@/ctl' || {
        __troupe_s=$? __troupe_n=''
        if [[ $__troupe_s -gt 128 ]]; then builtin continue; fi # TMOUT
      }
      __troupe_n=$__troupe_h$__troupe_n __troupe_h='' __troupe_z=18
      __troupe_c=${__troupe_n:16} __troupe_c=${__troupe_c%$'\n'} __troupe_n=${__troupe_n:0:16} __troupe_s='' __troupe_g='' __troupe_f='@DIR@/text'
      # == is blind to capitals under nocasematch; what ends a word is not.
      if [[ $__troupe_c && ! ${__troupe_c#[ekms]} && $__troupe_n != "$__troupe_l" && -f $__troupe_f ]] || __troupe_seldom; then builtin break; fi
    done
    if [[ $__troupe_c == [kstKST] ]]; then __troupe_e='@DIR@/err' __troupe_m=0; else __troupe_e='@DIR@/out' __troupe_m=0; fi
    command exec 1>'@DIR@/out' || builtin exit 125
    builtin return "$__troupe_p"
  }
  builtin printf '\0ready 0 %s\0' "${PWD-}" >>'@DIR@/st'
  command exec 0</dev/null 1>/dev/null 2>&1
fi
while [[ x ]]; do
  if __troupe "$__troupe_s"; then
    builtin . "$__troupe_f" 2>"$__troupe_e"
  else
    builtin . "$__troupe_f" 2>"$__troupe_e"
  fi
  __troupe_s=$?
  builtin trap - DEBUG # of the next file that is sourced it would tell nothing, and of this one all
done
case $__troupe_s in
'') # a break in a text has ended the loop, or ^Z on a terminal
  __troupe_loose break "$?"
  builtin . '@DIR@/driver'
  ;;
*) builtin exit "$__troupe_s" ;; # it cannot be run: a word of it is something else now
esac
