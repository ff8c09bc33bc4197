
# Appended to SQLite's tester.tcl. A crash may garble all of a journal. SQLite drops such a file; Coffer keeps it, and
# refuses the database until somebody moves the journal away. This does so, and says it, so that the test goes on and
# checks the rows.
proc after_crash {} {
  if {![info exists ::env(COFFER_SUITE)] || $::env(COFFER_SUITE) ni {gcm1 sqlcipher4}} return
  if {![file exists test.db-journal]} return
  # A copy, made by another process, which drops no locks: looking at the database itself would play its journal back.
  foreach end {{} -journal} {
    if {[file exists test.db$end]} { exec cp test.db$end looking.db$end }
  }
  set failed [catch {
    sqlite3 looking looking.db
    looking eval {SELECT count(*) FROM sqlite_master}
  } message]
  catch {looking close}
  forcedelete looking.db looking.db-journal
  if {$failed && $message in {{disk I/O error} {unable to open database file}}} {
    puts "REFUSED after a crash: $message"
    forcedelete test.db-journal
  }
}
