# awk -f count_tests.awk tally=TALLY TALLY JUNIT prints "passed failed skipped".
# JUNIT is ctest's report, with one test per line. TALLY has the cases of each of our test executables. An executable
# that died before or after it wrote its tally counts as one failure, and so does a test that did not run for any reason
# other than its own request to be skipped.
function count(asked) {
  if (name == "") return
  asked = status == "notrun" && reason ~ /^SKIP_/
  if (name in known) {
    p += passed[name]; f += failed[name]; s += skipped[name]
    if (status != "run" && !asked && !failed[name]) f++
  } else if (status == "run") p++
  else if (asked || status == "disabled") s++
  else f++
  name = ""
}
function attribute(key) {
  return match($0, " " key "=\"[^\"]*\"") ? substr($0, RSTART + length(key) + 3, RLENGTH - length(key) - 4) : ""
}
FILENAME == tally { passed[$1] += $2; failed[$1] += $3; skipped[$1] += $4; known[$1] = 1; next }
/^[ \t]*<testcase / { count(); name = attribute("name"); status = attribute("status"); reason = "" }
/^[ \t]*<skipped / { reason = attribute("message") }
END { count(); print p + 0, f + 0, s + 0 }
