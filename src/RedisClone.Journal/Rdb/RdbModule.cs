namespace RedisClone.Journal.Rdb;

/// <summary>
/// Decodes the names of module types for error texts. Module values cannot be read. The number of a module type
/// consists of nine letters of six bits each and a version.
/// </summary>
internal static class RdbModule
{
    private const string Letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

    public static bool Refuse(RdbReader reader, RdbType type)
    {
        if (type == RdbType.ModuleOld) return reader.Fail("Pre-release module format not supported");
        return reader.TryLength(out ulong id)
            && reader.Fail($"The RDB file contains module data I can't load: no matching module type '{NameOf(id)}'");
    }

    public static string NameOf(ulong id) => string.Create(9, id >> 10, static (name, bits) =>
    {
        for (int i = 8; i >= 0; i--, bits >>= 6) name[i] = Letters[(int)(bits & 63)];
    });
}
