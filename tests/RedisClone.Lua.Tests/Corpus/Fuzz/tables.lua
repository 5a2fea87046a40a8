-- Random stores and removals. The traversal order, the length and next must match real Lua.
-- (A garbage collection removes dead keys in real Lua, which changes the order of keys that are added again.)
collectgarbage("stop")
local x = SEED
local function rnd(n) x = (x * 16807 + 11) % 2147483647 return x % n end
local function key()
  local kind = rnd(9)
  if kind < 4 then return 1 + rnd(20) end
  if kind == 4 then return rnd(2000) - 1000 end
  if kind == 5 then return rnd(100) / 4 end
  if kind == 6 then return rnd(2) == 0 end
  if kind == 7 then return ('k'):rep(rnd(70)) .. rnd(10) end
  return 'key' .. rnd(40)
end
local function show(t)
  local out = {}
  for k, v in pairs(t) do out[#out + 1] = tostring(k) .. '=' .. tostring(v) end
  print(#t, table.concat(out, ' '))
end
for round = 1, 120 do
  local t
  local start = rnd(5)
  if start == 0 then t = {1, 2, 3}
  elseif start == 1 then t = {x = 1, y = 2, z = 3, [1] = 5}
  elseif start == 2 then t = {nil, 2, nil, 4, n = 1}
  elseif start == 3 then t = {unpack({1, 2, 3, 4, 5, 6, 7}, 1, rnd(8))}
  else t = {} end
  for step = 1, 20 + rnd(150) do
    local action = rnd(12)
    if action < 6 then t[key()] = step
    elseif action < 9 then t[key()] = nil
    elseif action == 9 then t[#t + 1] = step
    elseif action == 10 then table.insert(t, 1 + rnd(#t + 1), step)
    else table.remove(t, #t > 0 and 1 + rnd(#t) or nil) end
    if step % 10 == 0 then show(t) end
  end
  show(t)
  print(table.maxn(t), next(t))
  local removed = 0
  for k in pairs(t) do if rnd(2) == 0 then t[k] = nil removed = removed + 1 end end
  print(removed)
  show(t)
end
for round = 1, 60 do
  local t = {}
  for i = 1, rnd(60) do t[i] = rnd(30) end
  local compared = 0
  table.sort(t, rnd(2) == 0 and function(a, b) compared = compared + 1 return a > b end or nil)
  print(compared, table.concat(t, ' '))
  for i = 1, 12 do t[i] = i end
  print(pcall(table.sort, t, function(a, b) return rnd(3) == 0 end))
  print(pcall(table.concat, t, ' '))
end
