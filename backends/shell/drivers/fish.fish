# The driver of a fish on pipes, a script. An interrupt ends what a command runs; a loop
# of builtins does not hear of it.
set -g __troupe_n ''
set -g __troupe_s 0
set -g __troupe_c ''
set -g __troupe_k 0
set -g __troupe_m 0
function __troupe_int --on-signal INT
    return $status # it may come between the text and its status
end
function __troupe_r
    return $argv[1]
end
# A text is evaluated: exit in a file that is sourced would end no more than that. It has
# no scope of its own, and a return, break or continue in it does not reach the driver. One
# that read does not take, by a limit of the user's, is sourced still.
function __troupe_do --no-scope-shadowing
    if test -n "$__troupe_x"
        __troupe_r $__troupe_s
        builtin eval $__troupe_x
    else
        __troupe_r $__troupe_s
        builtin source $__troupe_f
    end
end
# What is substituted is nothing if it is longer than the user's limit for that.
function __troupe_cut
    set -q fish_read_limit; and set -l fish_read_limit 0
    set -g __troupe_c (builtin string sub -s 17 -- $__troupe_n)
    set -g __troupe_n (builtin string sub -l 16 -- $__troupe_n)
    set -g __troupe_k (builtin math $__troupe_k + 1)
    set -g __troupe_h (builtin math $__troupe_k % 2)
end
function __troupe_kept
    set -q fish_read_limit; and set -l fish_read_limit 0
    set -l __troupe_o "$IFS"
    set -l IFS \n # an empty one of the user's splits nothing
    for __troupe_v in (set -nx)
        builtin printf 'set -gx %s' $__troupe_v
        builtin printf ' %s' (builtin string escape -- $$__troupe_v)
        builtin echo
    end
    set -qgx IFS; and builtin printf 'set -gx IFS %s\n' (builtin string escape -- $__troupe_o)
    builtin echo "set -g __troupe_w $__troupe_k; return 0"
end
# An exit in a command tells where that is: its successor is to have what it has changed.
function __troupe_bye --on-event fish_exit
    begin
        builtin printf '\0%s run %s\0' "$__troupe_n" "$PWD" >>'@DIR@/st'
        __troupe_kept >"@DIR@/kept$__troupe_h"
    end 2>/dev/null
end
if test -s '@DIR@/kept0'; or test -s '@DIR@/kept1'
    set -g __troupe_t "$TROUPE_TREE"
    set -g __troupe_o $IFS
    # Of the two that were kept the newest counts that is whole.
    for __troupe_f in 0 1 0
        set -g IFS $__troupe_o
        for __troupe_v in (set -nx)
            set -e $__troupe_v
        end
        set -g __troupe_w 0
        builtin source "@DIR@/kept$__troupe_f"
        if test $__troupe_w -gt $__troupe_k
            set -g __troupe_k $__troupe_w
            set -g __troupe_c $__troupe_f
        end
        if test "$__troupe_f$__troupe_c" = 11
            break
        end
    end
    set -q IFS; or set -g IFS $__troupe_o
    set -e __troupe_o
    set -e __troupe_w
    if test -n "$__troupe_t"
        set -gx TROUPE_TREE "$__troupe_t"
    else
        set -e TROUPE_TREE
    end
    set -e __troupe_t
end 2>/dev/null
if test -s '@DIR@/start'
    builtin source '@DIR@/start'
end
builtin printf '\0ready 0 %s\0' "$PWD" >>'@DIR@/st'
while builtin true
    builtin read -g __troupe_n <'@DIR@/ctl'
    if test -z "$__troupe_n"; and test -p '@DIR@/ctl'; and test $__troupe_m -lt 99
        set -g __troupe_m (builtin math $__troupe_m + 1)
        continue
    end
    set -g __troupe_m 0
    __troupe_cut
    set -g __troupe_f '@DIR@/text'
    if builtin contains -- $__troupe_c n t N T
        set -g __troupe_f "@DIR@/$__troupe_n"
    end
    test -f $__troupe_f; or builtin exit 125
    set -g __troupe_x ''
    builtin read -gz __troupe_x <$__troupe_f; or set -g __troupe_x ''
    set -g __troupe_i /dev/null
    if builtin contains -- $__troupe_c M S N T
        set -g __troupe_i "@DIR@/$__troupe_n.in"
    end
    if builtin contains -- $__troupe_c s t S T
        begin
            test $__troupe_i = /dev/null; or builtin printf '\0%s run %s\0' "$__troupe_n" "$PWD" >>'@DIR@/st'
            __troupe_do
            set -g __troupe_s $status
        end <$__troupe_i >'@DIR@/out' 2>'@DIR@/err'
    else
        begin
            test $__troupe_i = /dev/null; or builtin printf '\0%s run %s\0' "$__troupe_n" "$PWD" >>'@DIR@/st'
            __troupe_do
            set -g __troupe_s $status
        end <$__troupe_i >'@DIR@/out' 2>&1
    end
    builtin printf '\0%s %s %s\0' "$__troupe_n" "$__troupe_s" "$PWD" >>'@DIR@/st'
    __troupe_kept >"@DIR@/kept$__troupe_h" 2>/dev/null
end
