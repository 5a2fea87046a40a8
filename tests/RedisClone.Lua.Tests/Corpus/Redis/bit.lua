local function try(...) print(pcall(...)) end
local b = bit
print(b.tobit(0xffffffff), b.tobit(2^32+5), b.bnot(0), b.band(0xff, 0x0f, 3), b.bor(1,2,4), b.bxor(5,1),
  b.lshift(1, 31), b.rshift(-1, 28), b.arshift(-16, 2), b.rol(0x12345678, 8), b.ror(0x12345678, 8), b.bswap(0x12345678),
  b.tohex(255), b.tohex(255, 4), b.tohex(255, -4), b.tohex(-1), b.tohex(1, 0), b.lshift(1, 33), b.tobit(1.5),
  b.tobit(2.5), b.tobit(-1.5), b.tobit("10"), b.tohex(1, 20), b.tohex(1, -2147483648))
try(b.band) try(b.tobit, "x") try(b.tobit, {}) try(b.lshift, 1)
