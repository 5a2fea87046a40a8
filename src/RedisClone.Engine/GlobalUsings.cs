// In this project, ValueType is the type of a stored value, not System.ValueType.
global using ValueType = RedisClone.Storage.ValueType;
