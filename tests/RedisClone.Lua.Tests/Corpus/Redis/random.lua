-- A script that seeds the generator gets the server's numbers. One that does not gets others in each run.
math.randomseed(0) for i=1,5 do print(math.random(), math.random(10), math.random(5, 9)) end math.randomseed(12345) print(math.random(), math.random(1000000)) math.randomseed(-1) print(math.random(100)) math.randomseed(0) print(math.random(2147483647))
print(string.format("%.17g", math.random()))
