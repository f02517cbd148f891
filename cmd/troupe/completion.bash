
__troupe_init_completion()
{
    COMPREPLY=()
    if declare -F _get_comp_words_by_ref >/dev/null 2>&1; then
        _get_comp_words_by_ref "$@" cur prev words cword
        return
    fi
    local i word line=$COMP_LINE broken=
    words=()
    for i in "${!COMP_WORDS[@]}"; do
        word=${COMP_WORDS[i]}
        if [[ $i -gt 0 && $line != [[:blank:]]* && ( -n $broken || $word == [=:]* ) ]]; then
            words[${#words[@]}-1]+=$word
        else
            words+=("$word")
        fi
        broken=
        [[ $word == [=:]* ]] && broken=yes
        line=${line#"${line%%[![:blank:]]*}"}
        line=${line#"$word"}
        [[ $i -eq $COMP_CWORD ]] && cword=$((${#words[@]} - 1))
    done
    cur=${words[cword]} prev=${words[cword > 0 ? cword - 1 : 0]}
}
