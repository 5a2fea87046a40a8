-- Random patterns against random subjects.
local x = SEED
local function rnd(n) x = (x * 16807 + 11) % 2147483647 return x % n end
local atoms = {'a', 'b', '.', '%a', '%d', '%w', '%s', '%p', '%l', '%u', '%x', '%z', '%%', '[ab]', '[^a]', '[a-c]',
  '[%d_]', '[^%s]', '[]]', '[^]]', '[a-]',
  '%A', '%b()', '%f[%w]', '%1', '%2', '(', ')', '()', '^', '$', '-', '%', '[', ']', '[a', '%f', '%b(', 'x', '\0'}
local quantifiers = {'', '', '', '*', '+', '-', '?'}
local letters = {'a', 'b', 'c', '(', ')', ' ', '1', '2', '_', 'A', '%', '.', '-', ']', '\0', '\255', 'x'}
local function pattern()
  local t = {}
  if rnd(5) == 0 then t[1] = '^' end
  for i = 1, 1 + rnd(5) do t[#t + 1] = atoms[1 + rnd(#atoms)] .. quantifiers[1 + rnd(#quantifiers)] end
  if rnd(5) == 0 then t[#t + 1] = '$' end
  return table.concat(t)
end
local function subject()
  local t = {}
  for i = 1, rnd(14) do t[i] = letters[1 + rnd(#letters)] end
  return table.concat(t)
end
local function show(...)
  local t = {}
  for i = 1, select('#', ...) do t[i] = string.format('%q', tostring((select(i, ...)))) end
  print(table.concat(t, ' '))
end
for i = 1, 3000 do
  local p, s = pattern(), subject()
  show(p, s)
  show(pcall(string.find, s, p))
  show(pcall(string.find, s, p, 1 + rnd(6) - 3))
  show(pcall(string.match, s, p))
  show(pcall(string.gsub, s, p, '<%0>'))
  show(pcall(string.gsub, s, p, '%1%%'))
  show(pcall(string.gsub, s, p, function(...) return select('#', ...) end, rnd(3)))
  show(pcall(function()
    local n = 0
    for a, b in string.gmatch(s, p) do n = n + 1 if n > 20 then break end show(a, b) end
    return n
  end))
end
