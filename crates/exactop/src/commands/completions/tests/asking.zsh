# Prints the completions of each line of a file, by a widget that needs no key presses.
# $1: the directory of the files.
dir=$1
fpath=($dir $fpath)
autoload -Uz compinit
compinit -u -D

# Records the offered words; with -O, -A or -D compadd only compares words.
compadd() {
    if [[ ${@[1,(i)(-|--)]} != *-(O|A|D)\ * ]]; then
        local -a hits
        builtin compadd -A hits "$@"
        (( $#hits )) && print -rl -- $IPREFIX${^hits} >>$dir/offered
    fi
    builtin compadd "$@"
}

# Leaves the line and the screen as they are.
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
