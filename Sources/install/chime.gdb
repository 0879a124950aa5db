# chime-dump: the lines that chime_queue_dump has for every queue of the process that gdb is attached to.
#     gdb -p PID -x chime.gdb -batch -ex chime-dump
# It calls malloc and Chime in the current thread, which should therefore not be inside malloc itself: choose one that waits
# (info threads, thread N). Other threads go on meanwhile. Up to 1,024 queues, 64 KiB of text for each.

define chime-dump
  set $chime_ids = (unsigned long *)((void *(*)(unsigned long))malloc)(73736)
  set $chime_text = (char *)($chime_ids + 1025)
  set $chime_status = ((int (*)(void *, unsigned long, void *))chime_queue_list)($chime_ids + 1, 1024, $chime_ids)
  set $chime_index = 1
  while $chime_index <= *$chime_ids && $chime_index <= 1024
    set $chime_text[0] = 0
    set $chime_status = ((int (*)(unsigned long, char *, unsigned long, void *))chime_queue_dump)($chime_ids[$chime_index], $chime_text, 65536, 0)
    printf "%s", $chime_text
    set $chime_index = $chime_index + 1
  end
  set $chime_status = ((int (*)(void *))free)($chime_ids)
end
document chime-dump
Prints every queue and timer of Chime in the process: state, next deadline, ticks, and what holds it up.
end
