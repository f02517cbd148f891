# The driver of a PowerShell on pipes: a script that takes a line from ctl, runs the text
# it names, and writes what came of it to st. The status is that of the last program, if
# one ran, else whether the last command succeeded.
$ErrorActionPreference = 'Continue'
$global:__troupe_d = '@DIR@'
function global:__troupe_say([string]$text) {
  [System.IO.File]::AppendAllText("$global:__troupe_d/st", "`0$text`0")
}
function global:__troupe_where { $PWD.ProviderPath }
if (Test-Path "$global:__troupe_d/start") { . "$global:__troupe_d/start" }
__troupe_say "ready 0 $(__troupe_where)"
while ($true) {
  $global:__troupe_n = [System.IO.File]::OpenText("$global:__troupe_d/ctl").ReadLine()
  if ($global:__troupe_n -notmatch '^[0-9a-f]{16}[mnstyMNST]$') { exit 125 }
  $global:__troupe_c = $global:__troupe_n.Substring(16)
  $global:__troupe_n = $global:__troupe_n.Substring(0, 16)
  if ($global:__troupe_c -ceq 'y') { __troupe_say 'sync 0 '; continue }
  $global:__troupe_f = "$global:__troupe_d/text"
  if ($global:__troupe_c -cmatch '[ntNT]') { $global:__troupe_f = "$global:__troupe_d/$global:__troupe_n" }
  $global:LASTEXITCODE = $null
  $global:__troupe_t = [scriptblock]::Create([System.IO.File]::ReadAllText($global:__troupe_f))
  if ($global:__troupe_c -cmatch '[MSNT]') {
    $global:__troupe_i = [System.IO.File]::OpenText("$global:__troupe_d/$global:__troupe_n.in")
    __troupe_say "$global:__troupe_n run $(__troupe_where)"
  }
  $global:__troupe_s = 130
  try {
    if ($global:__troupe_c -cmatch '[stST]') {
      . $global:__troupe_t > "$global:__troupe_d/out" 2> "$global:__troupe_d/err"
    } else {
      . $global:__troupe_t *> "$global:__troupe_d/out"
    }
    $global:__troupe_s = [int](-not $?)
    if ($null -ne $global:LASTEXITCODE) { $global:__troupe_s = $global:LASTEXITCODE }
  } catch {
    [System.IO.File]::AppendAllText("$global:__troupe_d/out", "$_`n")
    $global:__troupe_s = 1
  }
  __troupe_say "$global:__troupe_n $global:__troupe_s $(__troupe_where)"
}
