while read -r kind value files; do
echo "wall $(date +%s)"
roots= why=
case $kind in
pid) if [ -e "/proc/$value" ]; then roots=$value; else why="no process $value runs there"; fi ;;
cgroup) roots=$(cat "/sys/fs/cgroup/$value/cgroup.procs" 2>/dev/null | tr '\n' ' ')
[ -n "$roots" ] || why="no process is in the control group $value" ;;
machine) ;;
*) why="finding a $kind needs Python 3 there" ;;
esac
pids= queue=$roots
while [ -n "$queue" ]; do
set -- $queue
pids="$pids $1" kids= first=$1
shift
[ -r "/proc/$first/task/$first/children" ] && read -r kids <"/proc/$first/task/$first/children"
files="$files /proc/$first/stat /proc/$first/limits"
queue="$* $kids"
queue=${queue# } queue=${queue% }
[ "$queue" = " " ] && queue=
done
set -- $roots
[ -n "$1" ] && files="$files /proc/$1/cgroup"
echo "pids$pids"
[ -n "$why" ] && echo "why $why"
grep -H '' /proc/uptime $files 2>/dev/null
times
echo end
done
