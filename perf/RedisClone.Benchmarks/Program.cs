Console.WriteLine("RedisClone");
