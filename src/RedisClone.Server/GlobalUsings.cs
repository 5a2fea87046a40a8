// System.ValueType is never meant in this project.
global using ValueType = RedisClone.Storage.ValueType;
