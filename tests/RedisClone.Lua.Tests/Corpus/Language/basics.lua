print("hello", 1, 2.5, 10/2, 1e15, -0, 0/0, 2^53, 1e100, 123456789012345)
local t = {1,2,3,x=5,["y z"]=6}
for i,v in ipairs(t) do print(i,v) end
for k,v in pairs(t) do print(k,v) end
print(#t, t.x, t["y z"], t.nope)
local function fib(n) if n < 2 then return n end return fib(n-1)+fib(n-2) end
print(fib(20))
print(select('#', 1, nil, 3), select(2, 'a','b','c'))
print(pcall(function() error("x") end))
print(pcall(function() local x; x.y = 1 end))
print(pcall(function() return nofn() end))
print(pcall(function() return t.foo.bar end))
print(pcall(function() return 1 + {} end))
print(pcall(function() return "a" < 1 end))
print(pcall(function() return {} .. "x" end))
local co = coroutine.create(function(a,b) print(a,b); local c = coroutine.yield(a+b); print(c); return 99 end)
print(coroutine.resume(co, 1, 2)); print(coroutine.resume(co, "hi")); print(coroutine.resume(co))
for v in coroutine.wrap(function() for i=1,3 do coroutine.yield(i) end end) do print(v) end
local mt = {__index=function(t,k) return k..'!' end, __call=function(self, a) return a*2 end, __add=function(a,b)
  return 42 end, __tostring=function() return "OBJ" end}
local o = setmetatable({}, mt)
print(o.foo, o(21), o+1, 1+o, tostring(o))
local function va(...) local a,b = ... return select('#',...), a, b, ... end
print(va(1,2,3))
print((va(1,2,3)))
local i = 1
while true do i = i + 1 if i > 5 then break end end
repeat local z = i; i = i - 1 until z < 3
print(i)
for i=10,1,-3 do print(i) end
print(not nil, not 1, nil and 1, false or 2, 1 and 2 or 3)
print(tostring(nil), tostring(true), tonumber("0x10"), tonumber(" 12 "), tonumber("z",36), tonumber("1e"))
local a = {} for i=1,100 do a[i]=i end print(#a, unpack(a, 98))
local fns = {} for i=1,3 do fns[i] = function() i = i + 1 return i end end
print(fns[1](), fns[1](), fns[2]())
print(xpcall(function() error("boom") end, function(m) return "H:"..m end))
print(loadstring("return 1 +")) print(loadstring("x = = 1")) print(loadstring("for i=1 do end")) print(loadstring("x = 'abc"))
print(pcall(string and 1)) print(1 .. 2, "a".."b".."c"..1)
goto_ = 1 print(goto_)
