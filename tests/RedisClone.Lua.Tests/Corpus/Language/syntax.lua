for _, s in ipairs{'', 'x', 'x =', 'x = = 1', '= 1', 'x = 1 1', 'x y', 'x.', 'x:', 'x:y', 'x[', 'x[1', 'f(', 'f(1',
  'f(1,', 'f(1 2)', 'return return', 'return 1 2', 'break', 'while', 'while 1', 'while 1 do', 'do', 'end', 'if', 'if 1',
  'if 1 then', 'if 1 then else', 'if 1 then elseif', 'for', 'for i', 'for i =', 'for i = 1', 'for i = 1,',
  'for i = 1, 2', 'for i = 1, 2 do', 'for i,', 'for i in', 'for 1 in x', 'for i, j = 1, 2 do end', 'function',
  'function f', 'function f(', 'function f(1)', 'function f(a,', 'function f(a b)', 'function f(...',
  'function f(..., a) end', 'function f.g:h.i() end', 'local', 'local 1', 'local x =', 'local function',
  'local function f.x() end', 'repeat', 'repeat until', 'x = {', 'x = {1', 'x = {1,', 'x = {a=}', 'x = {[1]}',
  'x = {[1=2}', 'x = function', 'x = (1', 'x = )', 'x = "abc', "x = 'abc", 'x = "a\nb"', 'x = [[abc', 'x = [==[abc]]',
  'x = [=abc', '--[[abc', '--[==[abc]]', 'x = "\\300"', 'x = "\\', 'x = 1..2', 'x = 1e', 'x = 0x', 'x = 0xg', 'x = 3x',
  'x = 1.2.3', 'x = .', 'x = ...', 'function f() return ... end', 'x = ~1', 'x ~= 1', 'x = 1 ~ 2', 'x = !1', '@',
  '$x = 1', 'x = 5 %', 'x = #', 'x = not', 'x = -', 'x, y', 'x, y = ', 'x, 1 = 2', 'f() = 1', '(x) = 1', '(x) ',
  'x().y = 1', 'f().x', '"x":len()', '("x"):len()', 'x = x:y', 'and', 'x = and', 'x = nil nil', 'goto x', 'x = 1 do',
  ';', ';;', 'x = 1;;', 'return;', 'return;;', 'break;', 'while 1 do break x = 1 end', 'while 1 do return x = 1 end',
  'x = function() return 1 end end', 'x = }', 'x = ]', '::a::', 'x = 1 // 2', 'x = a.1', 'x = a.b.', 'x = [[a]] .. ',
  'x = [[ [[ ]] ]]', 'x = "\0', 'x = \1', 'x = \127', '\200', 'local a <const> = 1', 'f\n(1)', 'x = f\n(1)',
  'a.b:c = 1', 'a:b().c = 1', 'x = "unfinished\\', 'x = a and', 'x = (', 'x = {;}', 'x = {,}', 'x = {1;2,3;}',
  'local x; local function x() end', 'if x then else else end', 'elseif', 'until x', 'then', 'x = 0xffffffffffffffffff',
  'x = 1e400', '#!shebang', 'return function(a, a) end', 'local a = a', 'for a = 1, 2 do local a end',
  'x = {f = 1, 2, [3] = 4, "five"; six = 6}', 'a.b["c"].d = 1', 'x = - - -1', 'x = not not not x', 'x = 2 ^ -3',
  'x = -2 ^ 2', 'return 1,', 'x = function(...) local a = ... end', 'x = "tab\tquote\\"nl\\\nend"',
  'do local x <close> = 1 end', 'f{', 'f"', "f'x", 'f[[x', 'f{}.x = 1', 'f"x".y = 1'} do
  local f, e = loadstring(s, '=c')
  print(string.format('%q', s), f and 'ok' or e)
  f, e = loadstring(s)
  print(f and 'ok' or e)
  f, e = loadstring(s, '@file.lua')
  if not f then print(e) end
end
print(loadstring('x =', '@' .. ('long/'):rep(30) .. 'name.lua')) print(loadstring('x =', '=' .. ('n'):rep(100)))
print(loadstring(('y'):rep(100) .. ' =')) print(loadstring('x = 1\nx ='))
print(pcall(loadstring('error("e")', '@' .. ('long/'):rep(30) .. 'name.lua')))
print(pcall(loadstring('error("e")', '=' .. ('n'):rep(100))))
print(pcall(loadstring('error("e") --' .. ('y'):rep(100)))) print(pcall(loadstring('error("e")\nx = 1')))
print(pcall(loadstring('error("e")')))
print(type(load(function() return nil end))) local parts = {'return ', '1', ' + 2'} local i = 0
print(load(function() i = i + 1 return parts[i] end)()) print(pcall(load, function() return {} end))
print(pcall(load, function() error('rd') end)) print(pcall(load)) print(pcall(load, 'x')) print(pcall(loadstring))
print(type(load(function() return '' end))) local j = 0
print(load(function() j = j + 1 if j < 3 then return 'x = = ' end end, '=chunk'))
-- literals
print('\65\066\0677', "\a\b\f\n\r\t\v\\\"\'" == '\7\8\12\10\13\9\11\92\34\39', '\
', [[
first newline skipped]], [==[ ]] ]=] ]==], 'a\
b', #'\0\00\000', 0x10, 0xA, 0Xf, 1e2, 1E+2, 1e-2, .5, 5., 3.14e0)
