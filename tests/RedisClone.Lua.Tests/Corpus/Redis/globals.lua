-- Globals that scripts can access, and protection against changes.
local function try(...) print(pcall(...)) end
try(function() return undefined_name end)
try(function() return _G.other end)
try(function() return _G[1] end)
try(function() undefined_name = 1 end)
try(function() _G.x = 1 end)
try(function() rawset(_G, 'x', 1) end)
try(function() string.x = 1 end)
try(function() table.insert(string, 1) end)
try(function() setmetatable(_G, {}) end)
try(function() setmetatable(_G, nil) end)
try(function() getmetatable(_G).__index = nil end)
try(function() string.format = nil end)
try(function() math.pi = 3 end)
try(function() table.sort(table) end)
try(function() setmetatable(string, {}) end)
print(rawget(_G, 'print'), rawget(_G, 'dofile'), rawget(_G, 'loadfile'), rawget(_G, 'io'), rawget(_G, 'require'),
  rawget(_G, 'debug'), rawget(_G, 'package'))
-- (Redis 7.4 has os, but the reference Redis 7.0 does not. The server adds the other names.)
local skip = {os = 1, redis = 1, KEYS = 1, ARGV = 1, __redis__err__handler = 1}
local names = {}
for k, v in pairs(_G) do if not skip[k] then names[#names + 1] = k .. ':' .. type(v) end end
table.sort(names)
print(table.concat(names, ' '))
for _, lib in ipairs{'string', 'table', 'math', 'bit', 'struct', 'cjson', 'cmsgpack', 'coroutine'} do
  local found = {}
  for k, v in pairs(_G[lib]) do found[#found + 1] = k .. ':' .. type(v) end
  table.sort(found)
  print(lib, table.concat(found, ' '))
end
local f = loadstring('x = 1')
try(f)
print(pcall(loadstring, '\27Lua'))
print(loadstring('return 1', '=name')())
