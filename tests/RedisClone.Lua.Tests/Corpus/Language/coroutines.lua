local function try(...) print(pcall(...)) end
local co = coroutine.create(function(...) print('start', ...) local x = coroutine.yield(1, 2) print('got', x)
  local y, z = coroutine.yield() print('got', y, z) return 'end', nil end)
print(coroutine.status(co)) print(coroutine.resume(co, 'a', 'b')) print(coroutine.status(co))
print(coroutine.resume(co, 'x')) print(coroutine.resume(co, 'y', 'z')) print(coroutine.status(co))
print(coroutine.resume(co)) print(coroutine.resume(co))
-- errors
local bad = coroutine.create(function() error('oops') end) print(coroutine.resume(bad))
print(coroutine.status(bad), coroutine.resume(bad))
local bad2 = coroutine.create(function() error({}) end) print(type(select(2, coroutine.resume(bad2))))
local w = coroutine.wrap(function() coroutine.yield(1) error('in wrap') end) print(w()) try(w) try(w)
local w2 = coroutine.wrap(function() return 1 end) print(w2()) try(w2)
try(coroutine.create, 1) try(coroutine.create, print) try(coroutine.resume, 1) try(coroutine.yield, 1)
try(coroutine.status, nil) try(coroutine.wrap, nil) print(coroutine.running())
-- generators
local function range(n) return coroutine.wrap(function() for i = 1, n do coroutine.yield(i, i * i) end end) end
for i, sq in range(4) do print(i, sq) end
local function tree(t) if type(t) == 'table' then for _, v in ipairs(t) do tree(v) end else coroutine.yield(t) end end
for leaf in coroutine.wrap(function() tree{1, {2, {3, 4}, 5}, {{6}}} end) do print(leaf) end
-- status seen from inside
local outer, inner
outer = coroutine.create(function() inner = coroutine.create(function()
  print(coroutine.status(outer), coroutine.status(inner), coroutine.running() == inner) print(coroutine.resume(outer))
  print(coroutine.resume(inner)) coroutine.yield('deep') end) print(coroutine.resume(inner))
  print(coroutine.status(inner)) end)
print(coroutine.resume(outer)) print(coroutine.resume(inner))
-- yields across boundaries that 5.1 does not allow
local y = coroutine.create(function() print(pcall(coroutine.yield, 1)) return 'after' end) print(coroutine.resume(y))
local y2 = coroutine.create(function() return pcall(function() coroutine.yield(1) end) end) print(coroutine.resume(y2))
local y3 = coroutine.create(function() local t =
  setmetatable({}, {__index = function(t, k) return coroutine.yield(k) end}) return t.x end) print(coroutine.resume(y3))
local y4 = coroutine.create(function() table.sort({3, 2, 1}, function(a, b) coroutine.yield(1) return a < b end) end)
print(coroutine.resume(y4))
local y5 = coroutine.create(function() return (string.gsub('abc', '.', function(c) coroutine.yield(c) end)) end)
print(coroutine.resume(y5))
-- varargs, tail calls, closures over the stack of another coroutine
local v = coroutine.wrap(function(...) local n = select('#', ...) while true
  do n = n + select('#', coroutine.yield(n)) end end) print(v(1, 2, 3), v(), v(nil, nil), v(1))
local tc = coroutine.wrap(function() return coroutine.yield(1) end) print(tc(), tc('a', 'b'))
local get, set local cl = coroutine.wrap(function() local x = 1 get = function() return x end set =
  function(v) x = v end coroutine.yield() print('x is', x) x = x + 1 coroutine.yield() end) cl() set(10) print(get())
cl() print(get()) set(5) print(get())
local function producer() return coroutine.create(function() for _, s in ipairs{'a', 'b', 'c'} do coroutine.yield(s) end end) end
local function filter(p) return coroutine.create(function() local n = 1 while true
  do local _, s = coroutine.resume(p) if not s then return end coroutine.yield(n .. s) n = n + 1 end end) end
local f = filter(producer()) while true do local ok, s = coroutine.resume(f) if not s then break end print(ok, s) end
local many = {} for i = 1, 100 do many[i] = coroutine.wrap(function() local s = 0 while true
  do s = s + coroutine.yield(s) end end) many[i]() end local total = 0 for k = 1, 10
do for i = 1, 100 do total = total + many[i](i) end end print(total)
local deep = coroutine.wrap(function() local
  function r(n) if n == 0 then coroutine.yield('bottom') else r(n - 1) end return n end return r(100) end)
print(deep(), deep())
local function nest(n) if n == 0 then return 'done' end return coroutine.wrap(function() return nest(n - 1) end)() end
print(nest(50)) print(pcall(nest, 300))
print(select('#', coroutine.resume(coroutine.create(function() end))))
print(coroutine.resume(coroutine.create(function() return unpack({1, 2, 3}, 1, 5) end)))
print(type(coroutine.create(function() end)), tostring(coroutine.create(function() end)):match('^thread: '))
local xp = coroutine.wrap(function() return xpcall(function() error('e') end, function(m) return 'handled ' .. m end)
  end) print(xp())
for _ in coroutine.wrap(function() for k, val in pairs({10, 20}) do coroutine.yield(val) end end) do print(_) end
