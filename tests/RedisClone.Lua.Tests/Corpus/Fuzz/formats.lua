-- Conversions between numbers and text.
local x = SEED
local function rnd(n) x = (x * 16807 + 11) % 2147483647 return x % n end
local conversions = {'d', 'i', 'u', 'x', 'X', 'o', 'c', 'e', 'E', 'f', 'g', 'G', 's', 'q'}
local function number()
  local kind = rnd(8)
  if kind == 0 then return rnd(1000) - 500 end
  if kind == 1 then return (rnd(2000000) - 1000000) / 1000 end
  if kind == 2 then return rnd(1000) * 10 ^ (rnd(40) - 20) end
  if kind == 3 then return rnd(2147483646) * rnd(2147483646) end
  if kind == 4 then return ({0, -0, 1/0, -1/0, 2^31, 2^53, -2^31, 1e15, 1e14, 123456789012345, 0.1, 1e-5, 1e-4, 5e-324,
    1.7976931348623157e308, 0.5, 1.5, 2.5})[1 + rnd(18)] end
  if kind == 5 then return (rnd(100000) + rnd(100000) / 100000) * 10 ^ (rnd(600) - 300) end
  return rnd(100000) / 8
end
for i = 1, 4000 do
  local v = number()
  print(v, -v, v .. '', tostring(v), #tostring(v), tonumber(tostring(v)) == v)
  local f = '%'
  for _, flag in ipairs{'-', '+', ' ', '#', '0'} do if rnd(4) == 0 then f = f .. flag end end
  if rnd(2) == 0 then f = f .. rnd(30) end
  local c = conversions[1 + rnd(#conversions)]
  if c ~= 'c' and rnd(2) == 0 then f = f .. '.' .. (rnd(5) == 0 and '' or rnd(25)) end
  if c == 'c' then v = rnd(256) elseif c ~= 's' and c ~= 'q' and c:match('[diuxXo]') and math.abs(v) > 2^62 then v = 7 end
  if c == 'q' then f = '%' end
  print(f .. c, pcall(string.format, f .. c, v))
end
local digits = {'0', '1', '9', '5', '.', 'e', 'E', '+', '-', 'x', 'X', 'a', 'f', 'p', ' ', '\t', '_', 'n', 'i', 'inf',
  'nan', 'z', '\0'}
for i = 1, 6000 do
  local t = {}
  for j = 1, 1 + rnd(6) do t[j] = digits[1 + rnd(#digits)] end
  local s = table.concat(t)
  print(string.format('%q', s), tonumber(s), tonumber(s, 16), tonumber(s, 2), tonumber(s, 36), pcall(function() return s + 0 end))
  print((select(2, loadstring("return " .. s, "=n"))))
end
