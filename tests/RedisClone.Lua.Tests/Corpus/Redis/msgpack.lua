local function try(...) print(pcall(...)) end
local function hex(s) return (s:gsub(".", function(c) return ("%02x"):format(c:byte()) end)) end
local m = cmsgpack
for _, v in ipairs{0, 1, 127, 128, 255, 256, 65535, 65536, 4294967295, 4294967296, -1, -32, -33, -128, -129, -32768,
  -32769, -2147483648, -2147483649, 1.5, 0.1, 1/0, -1/0, 2^53, 2^63, -2^63, "", "a", ("x"):rep(31), ("x"):rep(32),
  ("x"):rep(255), ("x"):rep(256), ("x"):rep(65536), true, false}
do local p = m.pack(v) print(#p, hex(p:sub(1,20)), m.unpack(p) == v) end
print(hex(m.pack(nil))) print(hex(m.pack({}))) print(hex(m.pack({1,2,3}))) print(hex(m.pack({a=1})))
print(hex(m.pack({1,nil,3}))) print(hex(m.pack({[1]=1,[3]=3}))) print(hex(m.pack(1,"a",nil,{x={1}})))
print(hex(m.pack({[1.5]=1}))) print(hex(m.pack(0/0)))
local a16 = {} for i=1,16 do a16[i]=i end print(hex(m.pack(a16))) local m16 = {} for i=1,20 do m16["k"..i]=i end
print(#m.pack(m16), hex(m.pack(m16)))
local d = {} local e = d for i=1,20 do e.x = {} e = e.x end print(hex(m.pack(d))) local c = {} c.c = c print(hex(m.pack(c)))
try(m.pack) print(m.unpack(m.pack(1,2,"x"))) print(m.unpack_one(m.pack(1,2,3))) print(m.unpack_one(m.pack(1,2,3), 1))
print(m.unpack_one(m.pack(1), 0)) print(m.unpack_limit(m.pack(1,2,3,4), 2))
print(m.unpack_limit(m.pack(1,2,3,4), 2, 1)) print(m.unpack_limit(m.pack(1,2), 10))
print(m.unpack_limit(m.pack(1,2), 0))
try(m.unpack, "\204") try(m.unpack, "\205\1") try(m.unpack, "\193") try(m.unpack, "\196\1a") try(m.unpack, "\217\5ab")
try(m.unpack, "\147\1\2") try(m.unpack, "\129\1") try(m.unpack, "\222\255\255") try(m.unpack, "\221\255\255\255\255")
try(m.unpack, "\219\255\255\255\255") try(m.unpack, {}) try(m.unpack) try(m.unpack_one, "a", -1)
try(m.unpack_one, "a", 5) try(m.unpack_limit, "a", -1) try(m.unpack_limit, "a") try(m.unpack, "\129\192\1")
print(m.unpack(""))
print(m.unpack("\129\145\1\2")) print(m._NAME, m._VERSION) local x = m.unpack(m.pack({1,{2,{3}},a={b="c"}}))
print(x[2][2][1], x.a.b)
print(m.unpack("\207\255\255\255\255\255\255\255\255"), m.unpack("\211\255\255\255\255\255\255\255\254"),
  m.unpack("\209\255\254"), m.unpack("\210\255\255\255\254"), m.unpack("\208\200"), m.unpack("\206\255\255\255\255"),
  m.unpack("\202\63\192\0\0"), m.unpack("\203\63\248\0\0\0\0\0\0"))
local r = m.unpack(("\145"):rep(100).."\1") local n=0 while type(r)=="table" do r = r[1] n=n+1 end print(n, r)
try(m.unpack, ("\145"):rep(5000)) try(m.unpack, ("\129\1"):rep(5000)) 
