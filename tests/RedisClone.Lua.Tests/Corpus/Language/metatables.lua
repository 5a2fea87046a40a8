local function try(...) print(pcall(...)) end
local log = {}
local function named(name) return
  function(...) local t = {name} for i = 1, select('#', ...)
  do local v = select(i, ...) t[#t + 1] = type(v) == 'table' and 'T' or tostring(v) end print(table.concat(t, ' '))
  return name end end
local mt = {}
for _, e in ipairs{'add', 'sub', 'mul', 'div', 'mod', 'pow', 'unm', 'len', 'concat', 'call', 'index', 'newindex'}
do mt['__' .. e] = named(e) end
local a, b = setmetatable({}, mt), setmetatable({}, mt)
print(a + 1, 1 - a, a * b, a / 'x', nil or a % 2, 2 ^ a, -a, a .. 'x', 'x' .. a, 1 .. a, a .. b, a(1, 2, nil), a.foo, a[1])
print('1' .. 'x' .. a .. 'y' .. 'z')
a.x = 1; a[2] = nil; print(rawget(a, 'x'), #a)
print(#setmetatable({1, 2}, {__len = function() return 42 end}))
-- comparisons
local cmp = {__lt = function(x, y) return x.v < y.v end, __le = function(x, y) return x.v <= y.v end, __eq =
  function(x, y) return x.v == y.v end}
local function C(v) return setmetatable({v = v}, cmp) end
print(C(1) < C(2), C(2) < C(1), C(1) <= C(1), C(1) > C(2), C(1) >= C(1), C(1) == C(1), C(1) ~= C(1), C(1) == C(2))
local only = {__lt = function(x, y) return x.v < y.v end}
local function L(v) return setmetatable({v = v}, only) end
print(L(1) <= L(2), L(2) <= L(1), L(1) >= L(1))
try(function() return L(1) < C(1) end) try(function() return L(1) < 1 end) try(function() return {} < {} end)
try(function() return {} <= 1 end)
print(setmetatable({}, {__eq = function() return true end}) == setmetatable({}, {__eq = function() return true end}))
print(setmetatable({}, cmp) == 1, C(1) == 'x')
local q = setmetatable({v = 5}, cmp) print(q == q, q ~= q)
if C(3) == C(3) then print 'eq' else print 'ne' end
if not (C(3) < C(3)) then print 'not less' end
-- chains
local base = {greet = function(self) return 'hi ' .. self.name end}
local derived = setmetatable({}, {__index = base})
local obj = setmetatable({name = 'bob'}, {__index = derived})
print(obj:greet(), obj.nothing)
local proxy = setmetatable({}, {__newindex = log}) proxy.z = 3 print(rawget(proxy, 'z'), log.z)
local loop = {} setmetatable(loop, {__index = loop}) print(pcall(function() return loop.x end))
local l1, l2 = {}, {} setmetatable(l1, {__index = l2}) setmetatable(l2, {__index = l1}) try(function() return l1.x end)
setmetatable(l1, {__newindex = l2}) setmetatable(l2, {__newindex = l1}) try(function() l1.x = 1 end)
-- tostring, metatable protection, calls
print(tostring(setmetatable({}, {__tostring = function() return 'custom' end})))
try(tostring, setmetatable({}, {__tostring = function() error('in tostring') end}))
print(getmetatable(setmetatable({}, {__metatable = 'locked'}))) try(setmetatable, setmetatable({}, {__metatable = 1}), {})
try(setmetatable, {}) try(setmetatable, {}, 1) try(setmetatable, 1, {})
local callable = setmetatable({}, {__call = function(self, ...) return select('#', ...), ... end})
print(callable(), callable(1, nil), pcall(callable, 'x'))
local cc = setmetatable({}, {__call = callable}) try(function() return cc(1) end)
for i in setmetatable({n = 0}, {__call =
  function(self, s, c) self.n = self.n + 1 if self.n < 4 then return self.n end end}) do print('iter', i) end
local function tail(...) return callable(...) end print(tail(1, 2, 3))
print(("x"):rep(3), #"abc", type(("abc").len), pcall(function() return ("abc").nope.x end))
try(function() local s = 'x'; s.y = 1 end) try(function() return ("x") + 1 end)
print("10" + 1, "0x10" * 2, -"2", 10 .. "")
print(rawequal(C(1), C(1)), rawget(derived, 'greet'), rawset({}, 1, 2)[1])
local weak = setmetatable({}, {__mode = 'k'}) weak[1] = 2 print(weak[1])
try(function() return a.b.c.d end)
try(function() local t = setmetatable({}, {__index = function(t, k) error('idx ' .. k) end}) return t.foo end)
try(function() local t = setmetatable({}, {__index = function(t, k) error({}) end}) return t.foo end == nil)
local t = setmetatable({}, {__index = function(t, k) return k * 2 end}) print(t[21], rawget(t, 21)) try(function() return t.x end)
print(#setmetatable({}, {__index = {1, 2, 3}}), next(setmetatable({}, {__index = {1}})))
local cat = setmetatable({}, {__concat =
  function(x, y) return (type(x) == 'table' and 'T' or x) .. '|' .. (type(y) == 'table' and 'T' or y) end})
print(cat .. 'a' .. 'b', 'a' .. cat .. 'b', 'a' .. 'b' .. cat, 1 .. cat)
