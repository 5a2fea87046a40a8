local function try(f, ...) print(pcall(f, ...)) end
local up, t = nil, {}
try(function() local x = nil; x() end) try(function() up() end) try(function() t.x() end)
try(function() t:nomethod() end) try(function() t.x.y = 1 end) try(function() undefinedglobal() end)
try(function() undefinedglobal.x = 1 end) try(function() ("x")() end) try(function() (1)() end)
try(function() t[1][2] = 3 end) try(function() return t.a.b.c end) try(function() up.x = 1 end)
try(function() return up .. 'x' end) try(function() return 'x' .. t end) try(function() return 1 .. t.x end)
try(function() return t.x + 1 end) try(function() return 1 + t.x end) try(function() return -t end)
try(function() return #nil end) try(function() return #5 end) try(function() return t < t end)
try(function() return 1 < 'x' end) try(function() return nil < 1 end) try(function() return true < false end)
try(function() return t <= nil end) try(function() t[nil] = 1 end) try(function() t[0/0] = 1 end)
try(function() return t[nil] end) try(function() for i = 'x', 1 do end end) try(function() for i = 1, {} do end end)
try(function() for i = 1, 2, {} do end end) try(function() for x in nil do end end)
try(function() for x in 5 do end end) try(function() for k, v in pairs(nil) do end end)
try(function() for k, v in next, nil do end end) try(function() local a = {} ; a.b.c.d = 1 end)
try(function() string.rep() end) try(function() ("x"):rep({}) end) try(function() ("x").rep() end)
try(function() local s = string; s.rep() end) try(function() math.floor({}) end)
try(function() return ("x"):bad() end) try(function() setmetatable(1, 2) end) try(function() t.x.y() end)
try(function() local a; a.b() end) try(function() local a = {}; a.b.c() end) try(function() return t.x.y.z end)
try(function() return (t.x).y end) try(function() return t['x y'].z end) try(function() return t[1].z end)
try(function() local i = 1; return t[i].z end) try(function() return up[1] end)
try(function() return (up or nil)[1] end) try(function() (function() end)()() end) try(function() return ({})() end)
try(function() local f = 5; return f(1) end) try(function() return up(1) end)
try(function() local a, b = 1; return a + b end) try(function() local a, b = 1; return b + a end)
try(function() return 2 ^ {} end) try(function() return {} % 2 end) try(function() return t.p.q(t.r) end)
try(function() t.f = 'str'; t.f() end) try(function() return 'abc' + 1 end) try(function() return '10' + {} end)
try(function() return {} + '10' end)
-- error values and levels
try(error) try(error, nil) try(error, 'msg') try(error, 'msg', 0) try(error, 42) try(error, true) print(select('#', pcall(error)))
local function lvl(n) error('level ' .. n, n) end try(function() lvl(0) end) try(function() lvl(1) end)
try(function() lvl(2) end) try(function() lvl(3) end) try(function() lvl(10) end)
try(function() error(12) end) try(function() error('a\nb') end) print(type(select(2, pcall(error, {}))))
try(function() assert(false) end) try(function() assert(nil, 'assert msg') end) try(function() assert(false, 5) end)
try(function() assert() end) print(assert(1, 2, 3)) try(assert, false, {})
-- xpcall and nesting
print(xpcall(function() return 1, 2 end, print))
print(xpcall(function() error('x') end, function(m) return m .. '!', 'lost' end))
print(xpcall(function() local x = nil; x.y = 1 end, function(m) return 'H:' .. m end))
print(xpcall(function() error('x') end, function(m) error('y') end))
print(xpcall(function() error({1}) end, function(m) return type(m) end)) print(pcall(xpcall))
print(pcall(xpcall, print)) print(xpcall(nil, function(m) return m end))
print(xpcall(error, function(m) return tostring(m) end))
print(pcall(pcall)) print(pcall(pcall, error, 'e')) print(pcall(pcall, pcall, pcall, error, 'e')) print(pcall(1))
print(pcall(nil)) print(pcall({}))
local function depth(n) return pcall(function() if n > 0 then return depth(n - 1) end error('bottom') end) end print(depth(5))
-- stack overflow
local function inf() return 1 + inf() end local ok, m = pcall(inf) print(ok, m)
local function infp() return pcall(infp) end print(select('#', infp()) > 100)
local mt = {} mt.__index = function(t, k) return t[k .. 'x'] end print(pcall(function() return setmetatable({}, mt).a end))
print(pcall(string.gsub, 'x', 'x', function() local function r() return (string.gsub('x', 'x', r)) end return r() end))
local s = 'return ' .. ('('):rep(150) .. '1' .. (')'):rep(150) print(loadstring(s)())
s = 'return ' .. ('('):rep(300) .. '1' .. (')'):rep(300) print(loadstring(s))
s = ('do '):rep(300) .. ('end '):rep(300) print(loadstring(s, '=x'))
s = 'return ' .. ('-'):rep(1) .. ('not '):rep(300) .. '1' print(loadstring(s, '=x'))
s = 'return ' .. ('{'):rep(300) .. ('}'):rep(300) print(loadstring(s, '=x')) s = 'return ' .. ('a.'):rep(1000) .. 'b'
print(type(loadstring(s, '=x'))) s = 'return ' .. ('a..'):rep(250) .. 'b' print(loadstring(s, '=x'))
s = ('function f() '):rep(250) .. ('end '):rep(250) print(loadstring(s, '=x')) s = ('a,'):rep(300) .. 'a = 1'
print(loadstring(s, '=x')) s = 'return ' .. ('f('):rep(300) .. (')'):rep(300) print(loadstring(s, '=x'))
s = 'local ' .. ('a,'):rep(199) .. 'a' print(type(loadstring(s, '=x'))) s = 'local ' .. ('a,'):rep(200) .. 'a'
print(loadstring(s, '=x')) s = ('if x then '):rep(250) .. ('end '):rep(250) print(loadstring(s, '=x'))
do local d = {} for i = 1, 61 do d[i] = 'local v' .. i .. ' ' end local u = {} for i = 1, 61 do u[i] = 'v' .. i end
  print(loadstring(table.concat(d) .. ' return function() return ' .. table.concat(u, ',') .. ' end', '=x')) u[61] = nil
  print(type(loadstring(table.concat(d) .. ' return function() return ' .. table.concat(u, ',') .. ' end', '=x'))) end
do local u = {} for i = 1, 260 do u[i] = 'a' .. i end
  print(loadstring('return f(' .. table.concat(u, ',') .. ')', '=x'))
  print(type(loadstring('x = {' .. table.concat(u, ',') .. '}', '=x'))) end
local max = 0 local function down(n) max = n return 1 + down(n + 1) end pcall(down, 1) print(max > 16000)
print(select(2, pcall(function()
  local a

  a.b = 1
end)))
print(select(2, pcall(function() return
  t.x
  .y
end)))
print(select(2, pcall(function()
  local x = 1 +
    t
end)))
print(select(2, pcall(function()
  t.x(1,
  2)
end)))
