-- Variables, closures, loops, assignment order, varargs, environments.
local x = 1 do local x = 2 print(x) end print(x)
local a, b, c = (function() return 1, 2, 3 end)() print(a, b, c) a, b = b, a print(a, b) local t = {1, 2}
local i = 1 i, t[i] = i + 1, 20 print(i, t[1], t[2])
local d, e = ((function() return 1, 2 end)()) print(d, e) local f1, f2 = (function() end)(), 5 print(f1, f2)
do local a = {} local i = 3 i, a[i] = i + 1, 20 print(i, a[3], a[4]) local t = {} t[1], t[2], t[3] = 1, 2
  print(t[1], t[2], t[3]) local x, y, z = 1 print(x, y, z) x, y = 1, 2, 3 print(x, y) end
local fs = {} for i = 1, 3 do local j = i * 10 fs[#fs + 1] = function() i = i + 1 j = j + 1 return i, j end end
print(fs[1]()) print(fs[1]()) print(fs[2]()) print(fs[3]())
fs = {} local k = 0 while k < 3 do k = k + 1 local m = k fs[k] = function() m = m + 1 return m end end
print(fs[1](), fs[1](), fs[2](), fs[3]())
fs = {} k = 0 repeat local m = k fs[#fs + 1] = function() return m end k = k + 1 until m >= 2
print(fs[1](), fs[2](), fs[3]()) repeat local done = true until done
for i = 1, 5 do if i == 3 then break end local g = function() return i end fs[i] = g end print(fs[1](), fs[2]())
local function counter() local n = 0 return function() n = n + 1 return n end, function() return n end end
local inc, get = counter() inc() inc() print(get()) local inc2, get2 = counter() print(get2())
local function shared() local v = 0 local function s(n) v = n end local function g() return v end return s, g end
local s, g = shared() s(7) print(g())
local function outer() local v = 1 return function() return function() v = v + 1 return v end end end
print(outer()()(), outer()()())
local function va(...) local n = select('#', ...) local a, b = ... return n, a, b, (...) end print(va()) print(va(nil))
print(va(1, 2, 3)) print((va(1))) print(select('#', va())) local function pass(...) return ... end
print(pass(1, nil, 3)) print(({pass(1, 2)})[2] == nil and 0 or #{pass(1, 2, 3)}, #{pass(1, 2), 5}, #{5, pass(1, 2)})
print(pass(), 1) print((pass()))
local function old(...) return arg end print(type(old(1, 2)), old and 1) local
function old2(...) return arg.n, arg[1], arg[2] end print(old2(5, nil)) local
function new(...) local x = ... return arg end print(type(new(1)))
print(unpack({1, 2, 3})) print(unpack({1, 2, 3}, 2, 3)) print(unpack({}, 1, 3)) print(math.max(unpack({4, 9, 2})))
print(#'x' .. 'y', 2 .. 3 == '23', 1 == 1.0, '1' == 1, 0 == -0, 1 < 2 == true, not 1 == 2, 2 ^ 3 ^ 2, -2 ^ 2,
  not nil == true, 1 .. 2 .. 3, 'a' < 'b' and 'b' < 'c', 7 % 3 * 2, 2 * 3 % 4, (2 + 3) * 4, 2 + 3 * 4 ^ 2 / 2,
  5 - 3 - 1, 2 ^ -1, -3 % 5, 3 % -5, -3 % -5, 5.5 % -2)
print(nil and 1, false and 1, 1 and nil, nil or false, false or nil, 1 or error('no'), nil and error('no'),
  (nil or 1) and 2, 1 and 2 and 3, nil or false or 3, not (1 and nil), 1 and (nil or 5), (function() return 1 and nil
  end)() == nil)
local function cond(x) if x == nil then return 'nil' elseif x == false then return 'false' elseif not x then
  return 'never' elseif x == 0 then return 'zero' elseif x == '' then return 'empty' else return 'other' end end
print(cond(nil), cond(false), cond(0), cond(''), cond({}))
for i = 3, 1 do print('never') end for i = 1, 3 do local i = i * 2 print(i) end for i = 3, 1, -1 do print(i) end
for i = 1, 2, 0.5 do print(i) end for i = 0.1, 0.35, 0.1 do print(i) end for i = '1', '2' do print(i, type(i)) end
for i = 1, 0.5 do print('never') end for i = 1, 1 do print('once') end for i = math.huge, 1 do print('never') end
do local n = 0 for i = 1, math.huge do n = n + 1 if n == 5 then break end end print(n) end
local n = 0 for i = 1, 3 do for j = 1, 3 do if j == 2 then break end n = n + i end end print(n) while true
do if n > 10 then break end n = n + 1 end print(n)
local t2 = {10, 20, nil, 40, x = 1, [100] = 5} local cnt = 0 for k, v in pairs(t2) do cnt = cnt + 1 end print(cnt)
for i, v in ipairs(t2) do print(i, v) end for k, v in next, {a = 1} do print(k, v) end for k in pairs({})
do print('never') end local r = {} for k, v in pairs({1, 2, 3, 4}) do if v % 2 == 0 then r[#r + 1] = v end end
print(table.concat(r, ','))
local big = {} for i = 1, 300 do big[#big + 1] = i end print(#big, big[300])
local lit = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28,
  29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53, unpack({54, 55})}
print(#lit, lit[50], lit[51], lit[55])
print(#{1, 2, nil, 4}, #{nil, nil, 3}, #{n = 1}, #{1, nil}, #{nil}, #{[1] = 1, [2] = 2}, #{1, 2, [4] = 4})
local o = {v = 1} function o.f(a) return a end function o:m(a) return self.v + a end
function o.sub() return 1 end o.inner = {} function o.inner.deep() return 'deep' end
function o.inner:meth() return self == o.inner end
print(o.f(1), o:m(2), o.m({v = 10}, 2), o.inner.deep(), o.inner:meth()) local
function rec(n) if n == 0 then return 0 end return n + rec(n - 1) end print(rec(100)) local
function tailrec(n, acc) if n == 0 then return acc end return tailrec(n - 1, acc + n) end print(tailrec(100000, 0))
print(loadstring('return _G')() == _G, coroutine.wrap(function() return loadstring('return _G')() == _G end)())
local chunk = loadstring('q = 5 local function f() return q end return f') local cf = chunk()
print(rawget(_G, 'q'), cf()) q = 6 print(cf(), pcall(loadstring('return q'))) q = nil
_G.newglobal = 1 print(newglobal) newglobal = nil print(rawget(_G, 'newglobal')) print(_G._G == _G, _VERSION, type(_G))
print(tostring(print):match('^builtin') or tostring(print):match('^function'))
print(collectgarbage('count') > 0, collectgarbage(), pcall(collectgarbage, 'bad')) print(type(gcinfo()))
print(next({}, nil), next({5}), rawequal(t, t), rawequal('a', 'a'), rawequal(1, 1), rawequal({}, {}), rawlen)
print(type(nil), pcall(type)) print(tostring(1), tostring('x'), tostring(nil), tostring(true), pcall(tostring))
print(tonumber('  10  '), tonumber('10a'), tonumber('z', 36), tonumber('Z', 36), tonumber('1.5', 10),
  pcall(tonumber, '1', 1), pcall(tonumber), tonumber({}), tonumber(nil), tonumber(true), pcall(tonumber, {}, 16),
  tonumber('7fffffffffffffff', 16), tonumber('-0x10'), tonumber('1e+'), tonumber('0b1'))
