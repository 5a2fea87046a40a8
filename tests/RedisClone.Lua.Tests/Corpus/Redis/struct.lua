local function try(...) print(pcall(...)) end
local function hex(s) return (s:gsub(".", function(c) return ("%02x"):format(c:byte()) end)) end
local s = struct
print(hex(s.pack("bBhHiIlL", -1, 255, -2, 65535, -3, 3, -4, 4))) print(hex(s.pack(">i4<i4", 1, 1)))
print(hex(s.pack("fd", 1.5, 1.5))) print(hex(s.pack(">fd", 1.5, 1.5))) print(hex(s.pack("s", "abc")))
print(hex(s.pack("c2", "abc"))) print(hex(s.pack("c0", "abc"))) print(hex(s.pack("!4bi", 1, 2)))
print(hex(s.pack("!bd", 1, 2))) print(hex(s.pack("bxb", 1, 2))) print(hex(s.pack("i3", -2)))
print(hex(s.pack("i16", 5))) print(hex(s.pack("T", 5)))
print(s.unpack("bBhHiIlL", s.pack("bBhHiIlL", -1, 255, -2, 65535, -3, 3, -4, 4))) print(s.unpack("s", "abc\0def"))
print(s.unpack("c2", "abc")) print(s.unpack("bc0", "\3abcd")) print(s.unpack("!4bi", s.pack("!4bi", 1, 2)))
print(s.unpack(">I2", "\1\2", 1)) print(s.unpack("i3", "\254\255\255")) print(s.unpack("i16", s.pack("i16", 5)))
print(s.unpack("fd", s.pack("fd", 1.5, 2.25)))
try(s.pack, "z", 1) try(s.pack, "i33", 1) try(s.pack, "i") try(s.pack, "c5", "abc") try(s.pack, "!3i", 1)
try(s.unpack, "i", "abc") try(s.unpack, "s", "abc") try(s.unpack, "c0", "abc") try(s.unpack, "i", "abcd", 0)
try(s.unpack, "i", "abcd", -1) try(s.unpack, "bc0", "\9a") try(s.size, "s") try(s.size, "c0")
print(s.size("bih"), s.size("!4bih"), s.size("c10"), s.size("!bd")) try(s.size, "z") try(s.pack, "i99999999999", 1)
try(s.unpack, "c4294967295", "a") try(s.pack) try(s.unpack, "i")
