local function try(...) print(pcall(...)) end
local j = cjson
print(j.encode({1,2,3}), j.encode({}), j.encode({a=1}), j.encode("x/\"\\\n\t\0\127é"), j.encode(1.5), j.encode(1e20),
  j.encode(true), j.encode(nil), j.encode(j.null), j.encode({{},{1},{x={}}}))
print(j.encode({[1]=1,[2]=2,[4]=4}), j.encode({1,nil,3}), j.encode(0.1), j.encode(1/3), j.encode(100000000000000), j.encode(-0))
try(j.encode, {[1]=1,[1000]=2}) try(j.encode, 1/0) try(j.encode, 0/0) try(j.encode, print or pcall)
try(j.encode, {[{}]=1}) try(j.encode) try(j.encode, 1, 2) try(j.encode, {[true]=1})
local t = {} for i=1,1001 do t = {t} end try(j.encode, t)
print(type(j.decode('{"a":[1,2,{"b":null}]}').a[3].b), j.decode('[1,2,3]')[3], j.decode('"\\u00e9\\ud83d\\ude00\\n"'),
  j.decode('1e2'), j.decode(' true '), j.decode('-1.5'))
for _, s in ipairs{'', '[', '{', '[1', '[1,', '{"a"', '{"a":', '{"a":1', '{"a":1,', '{a:1}', '[1 2]', '{"a" 1}', '"abc',
  '"\\x"', '"\\u12"', '"\\ud800"', 'tru', 'nul', '01', '+1', '1.', '.5', '-', 'inf', 'nan', '-inf', 'NaN', '0x10',
  '[1]x', ']', '}', ',', ':', "'a'", '[1,]', '{,}', '{"a":1,}', '1e', '1e5.5', '\255', 'Infinity', '[[[', '{"a":{"b":[',
  '1 1'} do try(j.decode, s) end
try(j.decode, "a\0b") try(j.decode, "\0a") try(j.decode, '"a\0b"') try(j.decode, '[1]\0zzz') try(j.decode, {})
try(j.decode) try(j.decode, 12)
try(j.decode, ("["):rep(1001)..("]"):rep(1001)) try(j.decode, ("["):rep(1000)..("]"):rep(1000)) try(j.decode, ('{"a":'):rep(1001))
print(j.encode_sparse_array()) print(j.encode_sparse_array(true, 3, 5)) print(j.encode({[1]=1,[1000]=2}))
print(j.encode_sparse_array(false, 2, 10)) try(j.encode_sparse_array, "maybe") try(j.encode_sparse_array, true, -1)
try(j.encode_sparse_array, 1,2,3,4)
print(j.encode_number_precision(3), j.encode(3.14159), j.encode_number_precision(14)) try(j.encode_number_precision, 15)
try(j.encode_number_precision, 0)
print(j.encode_invalid_numbers("null"), j.encode({1/0, 0/0}))
print(j.encode_invalid_numbers(true), j.encode({1/0, -1/0, 0/0})) print(j.encode_invalid_numbers(false))
try(j.encode_invalid_numbers, "x")
print(j.decode_invalid_numbers(false)) try(j.decode, '0x10') try(j.decode, 'nan') try(j.decode, '01')
print(j.decode_invalid_numbers("on"))
print(j.encode_max_depth(2), pcall(j.encode, {{{}}})) print(j.encode_max_depth(1000))
print(j.decode_max_depth(2), pcall(j.decode, '[[[]]]')) print(j.decode_max_depth(1000))
print(j.encode_keep_buffer(false), j.encode_keep_buffer(true), j.encode({1}))
local n = j.new() print(n.encode_max_depth(5), j.encode_max_depth(), n._NAME, n._VERSION, type(n.null), n.null ==
  j.null, tostring(j.null))
local big = {} for i=1,50 do big["key"..i] = i end print(j.encode(big))
print(j.encode({x=1,y=2,z={a=1,b=2,c=3}, [10]=1}), j.encode({1.5, "a", true, {b=false}}))
print(j.encode(j.decode('{"name":"x","list":[1,2,3],"o":{"k":null,"t":true},"f":1.25,"empty":{},"ea":[]}')))
