-- After math.randomseed a script gets the same numbers as in Redis. Otherwise the numbers differ in each run.
math.randomseed(0) for i=1,5 do print(math.random(), math.random(10), math.random(5, 9)) end math.randomseed(12345)
print(math.random(), math.random(1000000)) math.randomseed(-1) print(math.random(100)) math.randomseed(0)
print(math.random(2147483647))
print(string.format("%.17g", math.random()))
