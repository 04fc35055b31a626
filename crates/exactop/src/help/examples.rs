//! The examples of `--help`: for each command two or more lines that work, and what each does.

/// A command line and its result.
pub type Example = (&'static str, &'static str);

/// Examples by command; the empty name is `exactop` itself.
pub const EXAMPLES: &[(&str, &[Example])] = &[
    (
        "",
        &[
            ("exactop", "watch the machine live"),
            ("exactop -b -n 3 -o TIME+", "print three windows, longest-running tasks first"),
            ("exactop --json --once -d 10", "print ten seconds as one JSON object"),
            ("exactop --filter '%CPU>5' --filter user=root", "watch root's busy tasks"),
            ("exactop --once -d 1 --by command", "sum one second by command name"),
            ("exactop doctor", "list what this kernel offers and lacks"),
        ],
    ),
    (
        "columns",
        &[
            ("exactop columns", "list the columns as text"),
            ("exactop columns --json", "list them for a program"),
        ],
    ),
    (
        "doctor",
        &[
            ("exactop doctor", "list what this kernel offers and lacks"),
            ("exactop doctor --json", "print the same for a program"),
        ],
    ),
    (
        "prstat",
        &[
            ("exactop prstat -mL 1", "show microstates of threads each second"),
            ("exactop prstat -c 1 3", "print three reports, one below the other"),
            ("exactop prstat -a -s rss", "sort by memory, with users below"),
        ],
    ),
    (
        "ptop",
        &[
            ("exactop ptop", "show CPU time of processes and of their children"),
            ("exactop ptop --once 1", "print one second"),
            ("exactop ptop --json 1 3", "print three seconds as JSON"),
        ],
    ),
    (
        "waits",
        &[
            ("exactop waits -p 1 --once", "print what process 1 waits for in one second"),
            ("exactop waits --by thread 5 3", "print three windows of five seconds, by thread"),
            ("exactop waits --by unit 1 10", "draw how long each unit's tasks waited for a CPU"),
            ("exactop waits --replay incident.rec", "print the waits of a recording"),
        ],
    ),
    (
        "wakeups",
        &[
            ("exactop wakeups --once", "print the wake-ups of one second"),
            ("exactop wakeups --check 10 1", "exit with 3 at a thundering herd in ten seconds"),
        ],
    ),
    (
        "syscalls",
        &[
            ("exactop syscalls --once", "print all system calls of one second"),
            ("exactop syscalls accept4", "show how many connections arrive each second"),
            ("exactop syscalls --by thread close 1", "show close(2) and dispatches by thread"),
        ],
    ),
    (
        "moves",
        &[
            ("exactop moves --once", "print the migrations of one second"),
            ("exactop moves --by thread 10", "show them by thread, in windows of ten seconds"),
        ],
    ),
    (
        "switches",
        &[
            ("exactop switches --once", "print the context switches of one second"),
            ("exactop switches -p 1 --by thread", "show those of process 1 by thread"),
        ],
    ),
    (
        "owed",
        &[
            ("exactop owed --once", "print the waits beside idle CPUs of one second"),
            ("exactop owed -d 10 --json", "print windows of ten seconds as JSON lines"),
        ],
    ),
    (
        "run",
        &[
            ("exactop run make -j2", "report what make and its children used"),
            ("exactop run --max 40% -- make -j2", "run with 40 % of a CPU"),
            ("exactop run --record DIR -- make -j2", "record the machine for 'exactop replay'"),
            ("exactop run --nice 5 --cpus 0 --json r.json -- ./work", "write the report as JSON"),
            ("exactop run --repeat 10 --compare nice=0 nice=5 -- ./work", "compare two conditions"),
        ],
    ),
    (
        "blame",
        &[
            ("exactop blame", "watch which groups keep others off the CPU"),
            ("exactop blame --by unit 1 10", "print ten seconds by systemd unit"),
        ],
    ),
    (
        "cgroups",
        &[
            ("exactop cgroups", "show the control groups"),
            ("exactop cgroups --once", "print them for one second"),
            ("exactop cgroups set /user.slice --weight 50", "halve the weight of a group"),
        ],
    ),
    (
        "cgroups set",
        &[
            ("exactop cgroups set /user.slice --weight 50", "halve the weight of a group"),
            ("exactop cgroups set /user.slice --max 150%", "limit a group to 1.5 CPUs"),
            ("exactop cgroups set /user.slice --max max", "remove the limit"),
        ],
    ),
    (
        "record",
        &[
            ("exactop record", "keep 7 days of 10 s windows, at most 2 GiB"),
            (
                "exactop record -d 1 --keep 12h --dir /var/tmp/incident",
                "keep 1 s windows for 12 hours",
            ),
            ("exactop record list", "list what is recorded"),
            ("exactop record cut -t '03:05+15m' -o incident.rec", "write 15 minutes to one file"),
        ],
    ),
    (
        "record list",
        &[
            ("exactop record list", "list the files of this user's recording"),
            ("exactop record list --dir /var/log/exactop", "list the files of another recording"),
        ],
    ),
    (
        "record cut",
        &[
            ("exactop record cut -t '03:05+15m' -o incident.rec", "write 15 minutes to one file"),
            (
                "exactop record cut -t boot -o boot.rec --anonymous",
                "write all since boot without names",
            ),
        ],
    ),
    (
        "record verify",
        &[
            ("exactop record verify", "check every byte of this user's recording"),
            ("exactop record verify incident.rec", "check one file"),
        ],
    ),
    (
        "daemon",
        &[
            ("exactop daemon", "serve on /run/exactop/socket, and record windows"),
            ("exactop daemon --metrics 127.0.0.1:9464", "also serve a page for Prometheus"),
            ("exactop daemon --export https://store:8443", "also send windows to ClickHouse"),
            ("exactop daemon --export parquet:/srv/books", "also write Parquet every ten minutes"),
            ("exactop daemon --check", "print the settings and exit"),
        ],
    ),
    (
        "replay",
        &[
            ("exactop replay -t 14:03", "show the live view from 14:03 on"),
            ("exactop replay -b -t 'yesterday 14:00' -n 6", "print six windows of yesterday"),
            ("exactop replay --json incident.rec", "print all windows of a file as JSON"),
            ("exactop replay -t '2h ago' --once --preset ptop", "print one window as ptop does"),
            ("exactop replay -t '03:05+15m' --html incident.html", "write one page to send"),
        ],
    ),
    (
        "web",
        &[
            ("exactop web", "serve the live page on http://127.0.0.1:9465/"),
            ("exactop web --replay DIR -t '03:05+15m'", "serve a time range of a recording"),
            (
                "exactop web --listen 10.0.0.5:9465",
                "serve other machines, with a token, unencrypted",
            ),
        ],
    ),
    (
        "diff",
        &[
            ("exactop diff before.rec after.rec", "compare two recordings"),
            ("exactop diff -a '02:00+10m' -b '03:10+10m'", "compare two time ranges of one"),
            ("exactop diff --by unit before.rec after.rec", "compare by systemd unit"),
            ("exactop diff --per work=exits before.rec after.rec", "compare the CPU time per exit"),
            (
                "exactop diff -a '02:00+1h' -b '03:00+1h' /srv/books",
                "compare hours of many machines",
            ),
        ],
    ),
    (
        "report",
        &[
            ("exactop report -t '03:05+15m'", "report 15 minutes in words and figures"),
            ("exactop report -t '03:05+15m' --html", "print one HTML file with pictures"),
            ("exactop report -t boot --by unit", "report since boot, by systemd unit"),
            ("exactop report --json incident.rec", "print a recording as one JSON object"),
        ],
    ),
    (
        "export",
        &[
            ("exactop export parquet -t 'yesterday 00:00+24h' --to cpu", "write one day"),
            (
                "exactop export clickhouse --to https://store:8443 --login /etc/exactop/store",
                "send all",
            ),
        ],
    ),
    (
        "export parquet",
        &[
            ("exactop export parquet --to cpu", "write the whole recording below cpu/"),
            ("exactop export parquet incident.rec --to cpu", "write one file below cpu/"),
            (
                "exactop export parquet --to https://files/books/HOST",
                "send the files by PUT (WebDAV)",
            ),
        ],
    ),
    (
        "export clickhouse",
        &[
            ("exactop export clickhouse --to http://127.0.0.1:8123", "send new windows"),
            (
                "exactop export clickhouse --to https://store:8443 --login /etc/exactop/store",
                "log in",
            ),
        ],
    ),
    (
        "fleet",
        &[
            ("exactop fleet check --from /srv/books", "check that the books balance"),
            ("exactop fleet report --from /srv/books -t '14:00+1h' --by unit", "report one hour"),
            (
                "exactop diff -a '02:00+1h' -b '03:00+1h' --changed -next /srv/books",
                "compare a rollout",
            ),
        ],
    ),
    (
        "fleet check",
        &[
            ("exactop fleet check --from /srv/books", "check Parquet files of all hosts"),
            ("exactop fleet check --from https://store:8443 --json", "check a ClickHouse"),
        ],
    ),
    (
        "fleet report",
        &[
            ("exactop fleet report --from /srv/books -t '14:00+1h' --by unit", "report one hour"),
            (
                "exactop fleet report --from /srv/books --by pod --format html -o fleet.html",
                "draw it",
            ),
        ],
    ),
    (
        "load",
        &[
            ("exactop load spin --threads 1 --duration 1", "keep one CPU busy for a second"),
            ("exactop load herd --wake all", "wake 1000 workers at each connection"),
        ],
    ),
    (
        "load herd",
        &[
            ("exactop load herd --wake all", "wake 1000 workers at each connection"),
            ("exactop load herd --wake one --threads 8 --duration 1", "wake one of eight"),
        ],
    ),
    (
        "load ackermann",
        &[
            ("exactop load ackermann --n 5", "compute six results in one thread"),
            ("exactop load ackermann --n 5 --threads per-task", "compute each in its own thread"),
        ],
    ),
    (
        "load matmul",
        &[
            ("exactop load matmul 64 --verify", "multiply, and compare with one thread"),
            ("exactop load matmul 64 --threads 1 --json", "multiply in one thread"),
        ],
    ),
    (
        "load progress",
        &[
            ("exactop load progress --procs 2 --steps 10", "run two equal processes"),
            ("exactop load progress --procs 2 --steps 10 --nice 0,5", "run the second at nice 5"),
        ],
    ),
    (
        "load spin",
        &[
            ("exactop load spin --threads 1 --duration 1", "keep one CPU busy for a second"),
            ("exactop load spin --busy 25 --duration 1", "use a quarter of every CPU"),
        ],
    ),
    (
        "load sleepers",
        &[
            ("exactop load sleepers 100 --duration 1", "run 100 idle processes for a second"),
            ("exactop load sleepers 30000", "run 30000 for a minute"),
        ],
    ),
    (
        "load spawn",
        &[
            ("exactop load spawn --rate 100 --duration 1", "start 100 children in a second"),
            ("exactop load spawn --procs 1", "start one after the other for a minute"),
        ],
    ),
    (
        "load pingpong",
        &[
            ("exactop load pingpong --duration 1", "pass a byte for a second"),
            ("exactop load pingpong --json", "print the rounds each second for a minute"),
        ],
    ),
    (
        "trace",
        &[
            ("exactop trace -d 1 -o switches.pftrace", "then open it at https://ui.perfetto.dev"),
            ("exactop trace -d 10 -o all.pftrace --buffer 256", "record a busy machine"),
        ],
    ),
    (
        "lab",
        &[
            ("exactop lab list", "list the built-in experiments"),
            ("exactop lab run nice-share --quick", "run one in short"),
            ("exactop lab run all --out before", "run all; then again on another kernel"),
            ("exactop lab compare before after", "compare the two runs"),
        ],
    ),
    (
        "lab list",
        &[
            ("exactop lab list", "list the built-in experiments"),
            ("exactop lab list --json", "list them for a program"),
        ],
    ),
    (
        "lab show",
        &[
            ("exactop lab show weight", "describe an experiment"),
            ("exactop lab show weight --toml", "print its file, to start one of your own from"),
        ],
    ),
    (
        "lab run",
        &[
            ("exactop lab run nice-share --quick", "run one in short"),
            ("exactop lab run ./mine.toml --repeats 20", "run your own with 20 trials each"),
        ],
    ),
    (
        "lab report",
        &[
            ("exactop lab report before", "write the report of a run again"),
            ("exactop lab report ./before", "report an unfinished run by its path"),
        ],
    ),
    (
        "lab compare",
        &[
            ("exactop lab compare before after", "compare two runs"),
            ("exactop lab compare before after --json", "compare them for a program"),
        ],
    ),
    (
        "man",
        &[
            ("exactop man", "print the manual page of exactop"),
            ("exactop man lab-run", "print that of exactop lab run"),
            ("exactop man --list", "list all pages"),
        ],
    ),
    (
        "completions",
        &[
            ("exactop completions bash", "print the script for bash"),
            ("exactop completions zsh", "print the script for zsh"),
        ],
    ),
];
