# What is offered for each line of a file, told by a widget for which nobody has to press a key.
# $1: the directory of the files.
dir=$1
fpath=($dir $fpath)
autoload -Uz compinit
compinit -u -D

# Words that are offered; with -O, -A or -D they are only looked at.
compadd() {
    if [[ ${@[1,(i)(-|--)]} != *-(O|A|D)\ * ]]; then
        local -a hits
        builtin compadd -A hits "$@"
        (( $#hits )) && print -rl -- $IPREFIX${^hits} >>$dir/offered
    fi
    builtin compadd "$@"
}

# Nothing is put on the line, and nothing below it.
hush() { compstate[insert]= compstate[list]= }

zle-line-init() {
    local line
    for line in "${(@f)$(<$dir/lines)}"; do
        BUFFER=$line CURSOR=$#line
        comppostfuncs=(hush)
        zle complete-word
        print -r -- --end >>$dir/offered
    done
    BUFFER=exit
    zle accept-line
}
zle -N zle-line-init
