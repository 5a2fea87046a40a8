return await RedisClone.Server.Program.Main(args);
