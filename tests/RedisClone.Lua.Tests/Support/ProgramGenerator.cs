using System.Text;
using RedisClone.Lua.Compiling;

namespace RedisClone.Lua.Tests;

/// <summary>
/// Generates random programs that terminate, print their steps and never print an address. Many operations fail, so
/// that the error messages are compared, too.
/// </summary>
internal sealed class ProgramGenerator(int seed)
{
    private const string Prelude = """
        local function show(...)
          local n = select('#', ...)
          local out = {}
          for i = 1, n do
            local v = select(i, ...)
            local t = type(v)
            if t == 'table' then
              local keys = 0
              for k in pairs(v) do keys = keys + 1 end
              out[i] = 'table#' .. #v .. '/' .. keys
            elseif t == 'function' then out[i] = t
            else out[i] = tostring(v) end
          end
          print(table.concat(out, ' '))
        end
        local function num(v) return tonumber(v) or 1 end
        local function str(v) local t = type(v) return (t == 'table' or t == 'function') and t or tostring(v) end
        local function tab(v) return type(v) == 'table' and v or {v, x = v, a = {}} end
        local function copy(v) local c = {} for k, w in pairs(tab(v)) do c[k] = w end return c end
        local function try(f, ...) show(pcall(f, ...)) end
        g1, g2, g3 = 1, 'two', {3, x = 'y'}

        """;

    private readonly Random _random = new(seed);
    private readonly StringBuilder _text = new(Prelude);
    private readonly List<string> _variables = ["g1", "g2", "g3", "undefined_global"];
    private readonly List<string> _functions = ["math.floor", "str", "num", "type", "string.rep", "select"];
    private int _names;
    private int _depth;
    private bool _inLoop;
    private bool _vararg = true;

    public string Generate()
    {
        int statements = 4 + Next(8);
        for (int i = 0; i < statements; i++)
        {
            Line("try(function(...)");
            Nested(() => Block(2 + Next(5)));
            Line($"end, {Pick("1", "nil", "'s'", "{1, 2, x = 3}")}, {Pick("g1", "2", "false")})");
        }
        Line("show(g1, g2, g3)");
        return _text.ToString();
    }

    private int Next(int limit) => _random.Next(limit);

    private string Pick(params string[] options) => options[Next(options.Length)];

    private void Line(string line) => _text.Append(' ', _depth * 2).Append(line).Append('\n');

    private void Nested(Action body, bool? loop = null, bool? vararg = null)
    {
        int variables = _variables.Count, functions = _functions.Count;
        (bool inLoop, bool wasVararg) = (_inLoop, _vararg);
        _inLoop = loop ?? _inLoop;
        _vararg = vararg ?? _vararg;
        _depth++;
        body();
        _depth--;
        (_inLoop, _vararg) = (inLoop, wasVararg);
        _variables.RemoveRange(variables, _variables.Count - variables);
        _functions.RemoveRange(functions, _functions.Count - functions);
    }

    private void Block(int statements)
    {
        for (int i = 0; i < statements; i++) Statement();
        if (Next(8) == 0) Line($"do return {ExpressionList(1 + Next(3))} end");
        else if (_inLoop && Next(6) == 0) Line("do break end");
    }

    private void Statement()
    {
        if (_depth > 5)
        {
            Line($"show({ExpressionList(2)})");
            return;
        }
        switch (Next(17))
        {
            case 15 or 16:
                Line("try(function(...)");
                Nested(() => Block(1 + Next(3)), loop: false, vararg: true);
                Line($"end, {Simple()}, {Simple()})");
                break;
            case 0 or 1:
                string names = NewVariables(1 + Next(3), out string[] made);
                Line($"local {names} = {ExpressionList(1 + Next(3))}");
                _variables.AddRange(made);
                break;
            case 2 or 3:
                Line($"{Target()} = {Expression(3)}");
                break;
            case 4:
                Line($"{Target()}, {Target()} = {ExpressionList(1 + Next(3))}");
                break;
            case 5 or 6:
                Line($"show({ExpressionList(1 + Next(3))})");
                break;
            case 7:
                Line($"if {Expression(3)} then");
                Nested(() => Block(1 + Next(3)));
                if (Next(3) == 0)
                {
                    Line($"elseif {Expression(3)} then");
                    Nested(() => Block(1 + Next(2)));
                }
                if (Next(2) == 0)
                {
                    Line("else");
                    Nested(() => Block(1 + Next(2)));
                }
                Line("end");
                break;
            case 8:
                string index = NewVariables(1, out string[] indexes);
                string start = Pick("1", "0", $"({Number(1)}) % 5"), limit = $"{Next(4)}";
                string step = Next(3) == 0 ? ", " + Pick("1", "2", "-1", "0.5", "'1'") : "";
                Line($"for {index} = {start}, {limit}{step} do");
                Nested(
                    () =>
                    {
                        _variables.AddRange(indexes);
                        Block(1 + Next(3));
                    },
                    loop: true);
                Line("end");
                break;
            case 9:
                string pair = NewVariables(2, out string[] both);
                Line($"for {pair} in {Pick("pairs", "ipairs")}({Pick(Table(2), $"copy({Variable()})", Table(1))}) do");
                Nested(
                    () =>
                    {
                        _variables.AddRange(both);
                        Block(1 + Next(3));
                    },
                    loop: true);
                Line("end");
                break;
            case 10:
                string counter = "c" + _names++;
                Line($"local {counter} = 0");
                bool repeat = Next(2) == 0;
                Line(repeat ? "repeat" : $"while {counter} < {Next(5)} do");
                Nested(
                    () =>
                    {
                        Line($"{counter} = {counter} + 1");
                        string local = NewVariables(1, out string[] locals);
                        Line($"local {local} = function(...) {counter} = {counter} + 0; return {counter}, {Expression(1)} end");
                        _functions.AddRange(locals);
                        for (int i = Next(3); i >= 0; i--) Statement();
                    },
                    loop: true);
                Line(repeat ? $"until {counter} > {Next(4)}" : "end");
                break;
            case 11 or 12:
                Function();
                break;
            case 13:
                Line("do");
                Nested(() => Block(1 + Next(3)));
                Line("end");
                break;
            default:
                Line($"local _ = {Call(2)}");
                break;
        }
    }

    private void Function()
    {
        string name = "f" + _names++;
        int parameters = Next(3);
        string[] made = [.. Enumerable.Range(0, parameters).Select(_ => "p" + _names++)];
        bool vararg = Next(3) == 0;
        string list = string.Join(", ", vararg ? [.. made, "..."] : made);
        Line(Next(2) == 0 ? $"local function {name}({list})" : $"local {name} = function({list})");
        Nested(
            () =>
            {
                _variables.AddRange(made);
                Block(1 + Next(3));
                Line($"do return {ExpressionList(1 + Next(2))} end");
            },
            loop: false,
            vararg: vararg);
        Line("end");
        _functions.Add(name);
    }

    private string NewVariables(int count, out string[] made)
    {
        made = [.. Enumerable.Range(0, count).Select(_ => "v" + _names++)];
        return string.Join(", ", made);
    }

    private string Variable() => _variables[Next(_variables.Count)];

    private string Target() => Next(3) == 0
 ? $"{Pick(Variable(), "g3", "g3")}{Pick(".x", "[1]", $"[ {Expression(1)} ]", ".a.b")}"
        : Pick(Variable(), Pick("g1", "g2"), Variable());

    private string ExpressionList(int count) => string.Join(", ", Enumerable.Range(0, count).Select(_ => Expression(3)));

    private string Expression(int depth)
    {
        if (depth <= 0 || Next(4) == 0) return Simple();
        return Next(16) switch
        {
            0 or 1 or 2 => $"{Number(depth)} {Pick("+", "-", "*", "/", "%", "^")} {Number(depth)}",
            3 => $"({Number(depth)} {Pick("+", "-", "*")} {Number(depth)})",
            4 => Next(2) == 0
                ? $"{Number(depth)} {Pick("==", "~=", "<", ">", "<=", ">=")} {Number(depth)}"
                : $"{Text(depth)} {Pick("==", "~=", "<", ">", "<=", ">=")} {Text(depth)}",
            5 or 6 => $"{Expression(depth - 1)} {Pick("and", "or")} {Expression(depth - 1)}",
            7 => $"({Text(depth)} .. {Text(depth)})",
            8 => Pick($"- {Number(depth)}", $"not {Simple()}", $"#{Text(depth)}", $"- - {Number(depth)}"),
            9 => Table(depth - 1),
            10 => (Next(4) == 0 ? Variable() : $"tab({Variable()})")
                + Pick(".x", "[1]", "[2]", ".nope.deep", $"[ {Expression(depth - 1)} ]"),
            11 or 12 => Call(depth - 1),
            13 => $"({Call(depth - 1)})",
            14 => $"({Inline()})({Simple()})",
            _ => $"not ({Expression(depth - 1)})",
        };
    }

    private string Inline()
    {
        bool outer = _vararg;
        _vararg = Next(2) == 0;
        string text = $"function({(_vararg ? "..." : "")}) return {Simple()} end";
        _vararg = outer;
        return text;
    }

    /// <summary>Returns an expression that is usually a number. One in eight is an arbitrary expression.</summary>
    private string Number(int depth) => Next(8) switch
    {
        0 => Expression(depth - 1),
        1 or 2 => Pick("0", "1", "2", "3", "0.5", "10", "0x10", "'10'"),
        _ => $"num({Expression(depth - 1)})",
    };

    private string Text(int depth) => Next(8) switch
    {
        0 => Expression(depth - 1),
        1 or 2 => Pick("'a'", "'b'", "''", "12", "[==[x]==]"),
        _ => $"str({Expression(depth - 1)})",
    };

    private string Simple() => Next(14) switch
    {
        0 or 1 => Pick("0", "1", "2", "3", "-1", "0.5", "10", "1e3", "0x10", "255", "1e300", "-0"),
        2 => Pick("nil", "true", "false"),
        3 or 4 => Pick("'a'", "'10'", "''", "\"x y\"", "'0x1f'", "[[long]]", "'\\65\\n'", "'1e1'"),
        5 when _vararg => Pick("...", "(...)", "select('#', ...)"),
        6 => Pick("#g3", "g3.x", "g3[1]", "('str'):upper()", "('%d'):format(7)", "math.max(1, 2)"),
        _ => Variable(),
    };

    private string Table(int depth)
    {
        var fields = new List<string>();
        for (int i = Next(5); i > 0; i--)
        {
            fields.Add(Next(4) switch
            {
                0 => $"x = {Expression(depth - 1)}",
                1 => $"[{Pick("1", "2", "3", "'k'", "1.5", "true")}] = {Expression(depth - 1)}",
                _ => Expression(depth - 1),
            });
        }
        return $"{{{string.Join(Pick(", ", "; "), fields)}}}";
    }

    private string Call(int depth) => Next(6) switch
    {
        0 => $"str({Pick("1", "nil", "'s'", "1.5", "g1", "g2")})",
        1 => Next(3) == 0
            ? $"{Variable()}:{Pick("upper", "len", "foo", "rep")}({Simple()})"
            : $"str({Variable()}):{Pick("upper", "len", "sub")}({Pick("", "1", "2, 3")})",
        2 => $"(select({Next(3) - 1}, {Simple()}, {Simple()}))",
        3 => Next(4) == 0 ? $"{Variable()}({Simple()})" : $"({Inline()})({ExpressionList(2)})",
        _ => _functions[Next(_functions.Count)]
            + $"({string.Join(", ", Enumerable.Range(0, Next(4)).Select(_ => Expression(depth - 1)))})",
    };
}
