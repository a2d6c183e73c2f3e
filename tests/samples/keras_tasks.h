/* Written by keras_tasks.py: what Keras 3.15.1 says while it trains. */
/* clang-format off */
static const double line_SGD_losses[] = {
    0.441555798, 0.166947782, 0.419777334, 0.152917191, 0.127348945, 0.359308571, 0.135137901, 0.34168309, 0.123266816, 0.0964512378,
    0.291472793, 0.110504836, 0.278122395, 0.100223564, 0.0743219256, 0.236747116, 0.0911458135, 0.226957321, 0.0820761621, 0.0578500926,
    0.192881137, 0.0757962689, 0.185864627, 0.0676744953, 0.0453897379, 0.15774022, 0.0635422543, 0.152825981, 0.056180574, 0.0358925052,
    0.129542246, 0.0536990054, 0.126198798, 0.0469615161, 0.0286207311, 0.106857635, 0.045744542, 0.104675092, 0.0395314954, 0.0230319966,
    0.0885540992, 0.039277222, 0.0872200578, 0.0335143171, 0.0187203418, 0.0737382919, 0.0339862183, 0.0730161816, 0.0286172889, 0.0153797632,
    0.0617050566, 0.0296299458, 0.0614167452, 0.0246116798, 0.0127789481, 0.0518974774, 0.0260199308, 0.0519096553, 0.0213182364, 0.0107427891,
    0.0438747108, 0.0230085645, 0.0440881886, 0.0185959358, 0.00913848728, 0.0372871161, 0.0204798263, 0.0376287103, 0.0163334943, 0.00786537305,
    0.0318568908, 0.0183421522, 0.0322731659, 0.0144427717, 0.00684694294, 0.0273626782, 0.0165229663, 0.0278151743, 0.012853723, 0.00602504564,
    0.0236277692, 0.0149645396, 0.0240892414, 0.0115105053, 0.00535539538, 0.0205106717, 0.0136207137, 0.0209623482, 0.0103683975, 0.00480419258,
    0.0178979523, 0.0124544576, 0.0183272827, 0.00939150341, 0.00434562471, 0.0156983081, 0.0114359073, 0.0160973854, 0.00855087675, 0.003959917,
};
static const double line_SGD_epochs_loss[] = {
    0.276638359, 0.223915994, 0.181663215, 0.147966996, 0.121091433, 0.0996078402, 0.0823804289, 0.0685166195, 0.0573168583, 0.0482328571,
    0.0408339761, 0.0347814895, 0.0298081432, 0.0257026292, 0.0222974345, 0.0194593463, 0.0170821678, 0.01508094, 0.0133875571, 0.0119472072,
};
static const double line_SGD_epochs_mae[] = {
    0.468330115, 0.416752666, 0.371957481, 0.332491785, 0.297926903, 0.270265043, 0.246475995, 0.225108355, 0.205895483, 0.188601837,
    0.173018932, 0.158962384, 0.14626871, 0.134792924, 0.124406442, 0.11499507, 0.106457405, 0.0991117656, 0.093182005, 0.088473767,
};
static const double line_SGD_evaluated_loss[] = {
    0.0107637011,
};
static const double line_SGD_evaluated_mae[] = {
    0.0838785619,
};
static const double line_SGD_weights_y_kernel[] = {
    1.60836589, -1.06031656, 0.148733959,
};
static const double line_SGD_weights_y_bias[] = {
    0.254680485,
};
static const double line_Adam_losses[] = {
    0.441555798, 0.168794438, 0.456216216, 0.163177803, 0.113008484, 0.394855559, 0.156132847, 0.415156424, 0.150135636, 0.108019084,
    0.361942649, 0.144605845, 0.381635368, 0.138101965, 0.100534752, 0.332880437, 0.133763671, 0.351549566, 0.126853809, 0.092332162,
    0.306436032, 0.123563521, 0.324007332, 0.116339117, 0.0841405094, 0.282140613, 0.113989785, 0.298616797, 0.106529154, 0.0763333067,
    0.259732902, 0.105027795, 0.275140882, 0.0973978564, 0.0691050068, 0.239032298, 0.096659407, 0.253407687, 0.0889174119, 0.0625421628,
    0.2198973, 0.0888628289, 0.233279511, 0.0810578391, 0.0566624105, 0.202209741, 0.0816135854, 0.214640111, 0.0737879425, 0.0514402054,
    0.18586722, 0.0748859122, 0.19738844, 0.0670762435, 0.0468250662, 0.170778781, 0.0686534569, 0.181434646, 0.0608918741, 0.042754475,
    0.156862006, 0.0628902763, 0.166696757, 0.0552049689, 0.0391626693, 0.144040614, 0.05757121, 0.153098837, 0.0499871075, 0.0359862782,
    0.132243067, 0.0526720174, 0.140568912, 0.0452110767, 0.0331674255, 0.121400975, 0.0481695347, 0.129038185, 0.040851064, 0.0306553002,
    0.111448959, 0.0440415181, 0.118440032, 0.0368822478, 0.0284064598, 0.10232389, 0.0402666181, 0.108710252, 0.0332808383, 0.0263844132,
    0.093965061, 0.0368241444, 0.0997866765, 0.0300236735, 0.0245588757, 0.0863143578, 0.0336938873, 0.0916096494, 0.0270882212, 0.0229048301,
};
static const double line_Adam_epochs_loss[] = {
    0.285833001, 0.260064483, 0.239234045, 0.22026968, 0.202759162, 0.186542898, 0.171522662, 0.157619536, 0.144761935, 0.13288255,
    0.121917859, 0.111808009, 0.102496743, 0.0939313099, 0.086061947, 0.078841649, 0.0722257718, 0.066171959, 0.06063978, 0.0555907823,
};
static const double line_Adam_epochs_mae[] = {
    0.463566989, 0.448340297, 0.431035995, 0.413126945, 0.395079285, 0.377152562, 0.359518647, 0.343848348, 0.330350995, 0.317142725,
    0.304244846, 0.291672528, 0.27943626, 0.267543316, 0.255998343, 0.244804591, 0.233963862, 0.223477393, 0.213345543, 0.203568235,
};
static const double line_Adam_evaluated_loss[] = {
    0.0521751307,
};
static const double line_Adam_evaluated_mae[] = {
    0.196988806,
};
static const double line_Adam_weights_y_kernel[] = {
    1.16106057, -0.947710991, -0.0476882234,
};
static const double line_Adam_weights_y_bias[] = {
    0.267235011,
};
static const double table_SGD_losses[] = {
    1.15753508, 1.33417165, 1.59368634, 1.05170488, 1.10128474, 1.08255267, 1.25928962, 1.46420777, 0.990338802, 1.02732921,
    1.03172219, 1.20964003, 1.37981915, 0.953198075, 0.975024223, 1.00504541, 1.17034006, 1.32143569, 0.920599699, 0.926482797,
    0.981148899, 1.13764119, 1.27262163, 0.891914308, 0.875935316, 0.962427616, 1.1104064, 1.23288357, 0.857778192, 0.825883448,
    0.937853217, 1.08586133, 1.19554722, 0.818567634, 0.764629364, 0.905480504, 1.06052184, 1.1596781, 0.776522994, 0.700114012,
    0.870181143, 1.03674293, 1.12528515, 0.731629968, 0.633074105, 0.831586301, 1.01260769, 1.08886147, 0.689596534, 0.567034841,
    0.789898515, 0.987552166, 1.05280232, 0.647538304, 0.502212942, 0.746370375, 0.958422959, 1.01101828, 0.605312943, 0.435454249,
    0.704198539, 0.918223083, 0.961757302, 0.560480595, 0.377882063, 0.657278478, 0.855551362, 0.918605685, 0.518341839, 0.322692037,
    0.611656666, 0.805688262, 0.879050493, 0.476492822, 0.277794123, 0.569973409, 0.751629949, 0.835499763, 0.437132955, 0.238335148,
    0.528493166, 0.702494919, 0.803328156, 0.402301401, 0.206968337, 0.49055022, 0.654793203, 0.759966791, 0.370322227, 0.180875525,
    0.454623193, 0.613102317, 0.722765863, 0.339558005, 0.162109077, 0.421019465, 0.579114735, 0.683119357, 0.311929047, 0.141594827,
};
static const double table_SGD_epochs_accuracy[] = {
    0.388888896, 0.388888896, 0.5, 0.555555582, 0.611111104, 0.666666687, 0.722222209, 0.722222209, 0.722222209, 0.722222209,
    0.722222209, 0.722222209, 0.722222209, 0.722222209, 0.722222209, 0.777777791, 0.833333313, 0.833333313, 0.833333313, 0.888888896,
};
static const double table_SGD_epochs_loss[] = {
    1.26394224, 1.18001187, 1.12486482, 1.08459163, 1.04917645, 1.01698613, 0.982254267, 0.944946826, 0.906750262, 0.868037641,
    0.828643978, 0.786411524, 0.740800142, 0.691360712, 0.647063375, 0.602978528, 0.564467013, 0.525793314, 0.491356373, 0.459106654,
};
static const double table_SGD_evaluated_accuracy[] = {
    0.888888896,
};
static const double table_SGD_evaluated_loss[] = {
    0.432292342,
};
static const double table_SGD_weights_place_embeddings[] = {
    0.38916111, 0.198087037, -0.402393043, 0.187448293, -0.334360629, 0.334621876, -0.110368252, -0.545908988,
};
static const double table_SGD_weights_hidden_kernel[] = {
    -0.0294077732, -0.219224378, 0.173456535, 0.26327607, 0.252831608, -0.154454172, 0.769215524, 0.000989211956,
};
static const double table_SGD_weights_hidden_bias[] = {
    0.0910285413, 0.307366282, 0.534065843, -0.411967695, 0.00923919864, 0.373849332,
};
static const double table_SGD_weights_offer_kernel[] = {
    0.629481316, 0.565250099, 0.513901591, -0.0471495464, -0.345108986, -0.709202468,
};
static const double table_SGD_weights_offer_bias[] = {
    0.110068053, -0.128840774, 0.159397706,
};
static const double table_Adam_losses[] = {
    1.15753508, 1.33398557, 1.60760474, 1.04925716, 1.099702, 1.06423259, 1.23635256, 1.47293842, 0.98647207, 1.04031241,
    1.01087618, 1.17555451, 1.37122357, 0.944390535, 0.979821563, 0.987617075, 1.12650049, 1.28927684, 0.907319367, 0.918490291,
    0.967569768, 1.08114791, 1.21898651, 0.86819303, 0.853631616, 0.944407642, 1.03552902, 1.15736628, 0.825050831, 0.783610344,
    0.903113008, 0.987179875, 1.10325742, 0.770005107, 0.707960963, 0.853323936, 0.935708702, 1.04591787, 0.705817223, 0.628354013,
    0.795753598, 0.878403366, 0.986146569, 0.640450716, 0.550142765, 0.732097328, 0.812527478, 0.927248299, 0.574264884, 0.484861404,
    0.668030024, 0.745119929, 0.873510003, 0.507427871, 0.410022676, 0.604131937, 0.680475295, 0.821169257, 0.440397143, 0.330925494,
    0.541558146, 0.616660595, 0.771586776, 0.375522077, 0.2621997, 0.481094301, 0.555502057, 0.730027676, 0.313742518, 0.207771525,
    0.421360075, 0.501047671, 0.690622807, 0.257023782, 0.168403089, 0.363496959, 0.456979692, 0.63460058, 0.206470609, 0.13759008,
    0.306204528, 0.422888309, 0.555242538, 0.161914214, 0.112644248, 0.251231998, 0.394661129, 0.474701315, 0.124884337, 0.0918339863,
    0.201828614, 0.372535199, 0.401492, 0.0964867994, 0.0745866597, 0.161004484, 0.346405089, 0.334727407, 0.0770568997, 0.0604324937,
};
static const double table_Adam_epochs_accuracy[] = {
    0.388888896, 0.388888896, 0.555555582, 0.611111104, 0.666666687, 0.666666687, 0.722222209, 0.722222209, 0.722222209, 0.722222209,
    0.722222209, 0.722222209, 0.777777791, 0.777777791, 0.777777791, 0.777777791, 0.888888896, 0.944444418, 1, 1,
};
static const double table_Adam_epochs_loss[] = {
    1.26627409, 1.17336714, 1.10932338, 1.05999088, 1.01393628, 0.967590868, 0.915008008, 0.856654406, 0.794627905, 0.730792999,
    0.666466475, 0.602585852, 0.541428328, 0.485389382, 0.434279084, 0.38452065, 0.333904833, 0.286976844, 0.246585771, 0.210980013,
};
static const double table_Adam_evaluated_accuracy[] = {
    1,
};
static const double table_Adam_evaluated_loss[] = {
    0.188016832,
};
static const double table_Adam_weights_place_embeddings[] = {
    0.0875825956, 0.0939709768, -0.249196038, 0.00703517487, -0.121190913, 0.485774428, -0.310739815, -0.901873648,
};
static const double table_Adam_weights_hidden_kernel[] = {
    -0.284399003, -0.0954799727, 0.117216781, 0.312634557, 0.491379976, -0.0591372661, 0.810590088, -0.179656878,
};
static const double table_Adam_weights_hidden_bias[] = {
    0.368891865, 0.142980248, 0.377849162, -0.550362527, 0.316235125, 0.279719383,
};
static const double table_Adam_weights_offer_kernel[] = {
    0.793115437, 0.464027435, 0.490604401, -0.0771427825, -0.873055279, -0.844438553,
};
static const double table_Adam_weights_offer_bias[] = {
    0.171493948, -0.0603748523, -0.0235616937,
};
static const double sequences_SGD_losses[] = {
    0.678173721, 0.722853839, 0.650434792, 0.65635407, 0.668728888, 0.675926149, 0.719374061, 0.64435631, 0.653996944, 0.665611029,
    0.673589587, 0.71655935, 0.637811184, 0.650725961, 0.662248909, 0.671108544, 0.714239299, 0.630720258, 0.646593213, 0.658587158,
    0.668434203, 0.71227777, 0.623005033, 0.641629219, 0.65457195, 0.665520549, 0.710562706, 0.614585459, 0.635845959, 0.650148511,
    0.662321448, 0.70899874, 0.605379105, 0.629240215, 0.645259142, 0.658788979, 0.707502127, 0.595301151, 0.621797025, 0.639842749,
    0.654872179, 0.705996275, 0.584265709, 0.613492966, 0.633834362, 0.650516391, 0.704408169, 0.572187662, 0.604299605, 0.627165079,
    0.645662665, 0.702665925, 0.558986425, 0.594187677, 0.619763255, 0.64024806, 0.700696409, 0.544589579, 0.583131433, 0.611555576,
    0.634205699, 0.698423505, 0.528939009, 0.57111311, 0.602469563, 0.627466381, 0.695766628, 0.511997581, 0.558127999, 0.592436552,
    0.619959831, 0.692640722, 0.493756175, 0.544188797, 0.581395149, 0.611617029, 0.688955188, 0.474241138, 0.529329002, 0.569295764,
    0.602373421, 0.684615433, 0.453520834, 0.513604343, 0.556105077, 0.592172146, 0.679523647, 0.431709886, 0.497092694, 0.541810393,
    0.580967784, 0.673581481, 0.408970088, 0.479889989, 0.526423216, 0.568730295, 0.666692793, 0.385507286, 0.46210435, 0.509981811,
};
static const double sequences_SGD_epochs_binary_accuracy[] = {
    0.666666687, 0.666666687, 0.666666687, 0.666666687, 0.666666687, 0.666666687, 0.777777791, 0.777777791, 0.777777791, 0.777777791,
    0.833333313, 0.833333313, 0.833333313, 0.888888896, 0.888888896, 0.888888896, 0.888888896, 0.888888896, 0.888888896, 0.944444418,
};
static const double sequences_SGD_epochs_loss[] = {
    0.676040232, 0.672546387, 0.668846846, 0.664878786, 0.660584927, 0.655908644, 0.650793195, 0.645180166, 0.639009833, 0.632220984,
    0.624752104, 0.616542995, 0.607536912, 0.597683787, 0.586942911, 0.575286686, 0.562703729, 0.549200773, 0.534804642, 0.519561231,
};
static const double sequences_SGD_evaluated_binary_accuracy[] = {
    0.944444418,
};
static const double sequences_SGD_evaluated_loss[] = {
    0.503346682,
};
static const double sequences_SGD_weights_rows_embeddings[] = {
    -0.5, -0.0614903234, 0.629824758, 0.265254676, 0.379171222, -0.0911092013, 0.215711787, -0.293944538,
};
static const double sequences_SGD_weights_hidden_kernel[] = {
    -0.0525026508, -0.166680112, -0.351814955, -0.483766437, -0.541367412, 0.531694114, 0.353273571,
};
static const double sequences_SGD_weights_hidden_bias[] = {
    -0.146522284, 0.0218841769, 0.316125095, -0.289669275, -0.0848783925,
};
static const double sequences_SGD_weights_good_kernel[] = {
    0.685122967, -0.649503112, 0.286581278, 0.52472645, -0.804030418,
};
static const double sequences_SGD_weights_good_bias[] = {
    0.189038634,
};
static const double sequences_Adam_losses[] = {
    0.678173721, 0.713225842, 0.646134973, 0.663100183, 0.663971663, 0.665706038, 0.692782223, 0.621808052, 0.646922827, 0.649328053,
    0.652088642, 0.685695887, 0.590137661, 0.620902896, 0.629179478, 0.634054065, 0.680224597, 0.550282478, 0.586740732, 0.602592349,
    0.610652328, 0.673918486, 0.501958251, 0.545620739, 0.568704724, 0.581211627, 0.665083051, 0.446144044, 0.499492943, 0.527218342,
    0.545525551, 0.652035236, 0.385397375, 0.451005429, 0.478801787, 0.504017591, 0.633059502, 0.323465884, 0.402687162, 0.425257325,
    0.457785368, 0.606708646, 0.264281303, 0.356042773, 0.369278282, 0.408508778, 0.572319984, 0.210970491, 0.311296701, 0.313845456,
    0.358240485, 0.530434966, 0.165401414, 0.26798135, 0.261586428, 0.309090734, 0.482763469, 0.128189385, 0.225938946, 0.214435756,
    0.262884319, 0.431653857, 0.0989187136, 0.186015218, 0.173600227, 0.220934317, 0.379452884, 0.0764992088, 0.149884894, 0.139588013,
    0.183993042, 0.328160197, 0.0595829226, 0.119128704, 0.112219095, 0.152319372, 0.279432595, 0.0468945354, 0.0943818986, 0.0907464921,
    0.125790894, 0.234689951, 0.0373892188, 0.0752222389, 0.0741259754, 0.104015633, 0.19506973, 0.0302655883, 0.0606419593, 0.0612951517,
    0.086427018, 0.161223501, 0.0249161534, 0.0495586321, 0.0513432696, 0.0723736659, 0.133186623, 0.0208769571, 0.041076161, 0.0435608849,
};
static const double sequences_Adam_epochs_binary_accuracy[] = {
    0.555555582, 0.666666687, 0.833333313, 0.833333313, 0.888888896, 0.888888896, 0.888888896, 0.944444418, 0.944444418, 0.944444418,
    0.944444418, 0.944444418, 1, 1, 1, 1, 1, 1, 1, 1,
};
static const double sequences_Adam_epochs_loss[] = {
    0.673915744, 0.65597409, 0.636314452, 0.611688435, 0.581444919, 0.545675755, 0.505192101, 0.461301953, 0.415434927, 0.368893027,
    0.32285586, 0.278488994, 0.236949384, 0.199236736, 0.165994331, 0.137422606, 0.113367848, 0.0934756696, 0.0772882104, 0.0642875209,
};
static const double sequences_Adam_evaluated_binary_accuracy[] = {
    1,
};
static const double sequences_Adam_evaluated_loss[] = {
    0.05628746,
};
static const double sequences_Adam_weights_rows_embeddings[] = {
    -0.5, -0.0767036378, 0.917036474, 0.769646585, 0.582907975, -0.126899019, -0.0454887114, -0.3258726,
};
static const double sequences_Adam_weights_hidden_kernel[] = {
    -0.792099476, -0.970158875, -1.07322252, -1.1442554, -1.44090939, 0.742181003, 0.595567465,
};
static const double sequences_Adam_weights_hidden_bias[] = {
    -0.0818905905, -0.00355333951, 0.136406556, -0.145129547, -0.0788301528,
};
static const double sequences_Adam_weights_good_kernel[] = {
    1.05012739, -1.19544268, 0.822501898, 0.818332911, -1.42044961,
};
static const double sequences_Adam_weights_good_bias[] = {
    0.16774188,
};
static const double mixed_SGD_losses[] = {
    1.30482841, 1.08394039, 1.20717669, 1.24180841, 1.29497766, 1.14208806, 1.02271724, 1.24137414, 1.16216373, 1.14526725,
    1.12448049, 1.01347566, 1.26029241, 1.14262867, 1.10134387, 1.11438346, 1.01127684, 1.25570214, 1.12948978, 1.08160949,
    1.10668361, 1.00988209, 1.24636602, 1.11953259, 1.06198585, 1.10079455, 1.00849748, 1.23831773, 1.11131847, 1.05043435,
    1.09550202, 1.00764489, 1.22812569, 1.10456693, 1.03802085, 1.09102356, 1.00665593, 1.21814024, 1.09816623, 1.03193939,
    1.08665287, 1.00590706, 1.20708311, 1.09253228, 1.02460802, 1.08277524, 1.00482094, 1.19673693, 1.08760154, 1.01633644,
    1.07939088, 1.00367618, 1.18718612, 1.08307397, 1.0088979, 1.07618678, 1.00244939, 1.17737186, 1.07901466, 1.00121999,
    1.07325268, 1.00113893, 1.1684128, 1.07507229, 1.00093067, 1.07045531, 0.998962879, 1.14195967, 1.07163227, 0.989398897,
    1.06851399, 0.994340718, 1.1300627, 1.06853914, 0.982207298, 1.06660461, 0.989989519, 1.12515819, 1.06628346, 0.973265529,
    1.06400836, 0.989581347, 1.11433935, 1.06592977, 0.960643589, 1.06184173, 0.987817764, 1.10530972, 1.06808066, 0.946592808,
    1.06050217, 0.986763954, 1.0961827, 1.06076729, 0.9509027, 1.0573175, 0.978431761, 1.08498251, 1.06662893, 0.933126867,
};
static const double mixed_SGD_epochs_kind_accuracy[] = {
    0.333333343, 0.5, 0.444444448, 0.444444448, 0.444444448, 0.444444448, 0.444444448, 0.444444448, 0.444444448, 0.444444448,
    0.444444448, 0.444444448, 0.444444448, 0.444444448, 0.5, 0.444444448, 0.444444448, 0.444444448, 0.444444448, 0.444444448,
};
static const double mixed_SGD_epochs_kind_loss[] = {
    1.12895666, 1.07471649, 1.06768333, 1.06114735, 1.05425776, 1.04945044, 1.04427705, 1.0401145, 1.03550967, 1.03110951,
    1.02706695, 1.02299742, 1.02000603, 1.01174207, 1.00696364, 1.00366029, 0.999425544, 0.995955752, 0.993027886, 0.988018235,
};
static const double mixed_SGD_epochs_loss[] = {
    1.21894288, 1.14243937, 1.13145542, 1.12259054, 1.11410165, 1.10758781, 1.1010778, 1.09554577, 1.08988428, 1.08446741,
    1.0795058, 1.07458508, 1.07074273, 1.06171322, 1.05612445, 1.05214846, 1.04759574, 1.04363251, 1.03992605, 1.03420532,
};
static const double mixed_SGD_epochs_price_loss[] = {
    0.179972339, 0.135445558, 0.127544032, 0.122886188, 0.119687651, 0.116274864, 0.113601436, 0.110862406, 0.108749231, 0.106715586,
    0.104877729, 0.103175249, 0.101473274, 0.099942358, 0.0983217011, 0.0969765592, 0.0963402995, 0.0953535065, 0.0937964386, 0.0923742826,
};
static const double mixed_SGD_epochs_price_mae[] = {
    0.337336987, 0.273201615, 0.261481345, 0.255878508, 0.253060699, 0.249133661, 0.246815473, 0.244528666, 0.243813485, 0.242897034,
    0.241996706, 0.241187602, 0.23894307, 0.239224851, 0.238304213, 0.238291949, 0.239890411, 0.240717888, 0.238355711, 0.238594562,
};
static const double mixed_SGD_evaluated_kind_accuracy[] = {
    0.5,
};
static const double mixed_SGD_evaluated_kind_loss[] = {
    0.977313638,
};
static const double mixed_SGD_evaluated_loss[] = {
    1.02285898,
};
static const double mixed_SGD_evaluated_price_loss[] = {
    0.0910907139,
};
static const double mixed_SGD_evaluated_price_mae[] = {
    0.233645618,
};
static const double mixed_SGD_weights_edges_kernel[] = {
    -0.561448038, -0.34375, -0.170392796, -0.0474841557, 0.1796875, 0.240566865, -0.530992389,
};
static const double mixed_SGD_weights_edges_bias[] = {
    0.258327842, -0.4765625, -0.282157421,
};
static const double mixed_SGD_weights_hidden_kernel[] = {
    0.109345801, 0.1328125, 0.213966101, 0.320883811, 0.4140625, -0.494776577, -0.40625, -0.392477393,
};
static const double mixed_SGD_weights_hidden_bias[] = {
    -0.152050436, -0.0511406548, 0.316738605, -0.368800849, -0.142014936, 0.149400443, 0.462883502, -0.184625134,
};
static const double mixed_SGD_weights_kind_kernel[] = {
    0.0500116497, -0.0500931852, -0.0238704141, -0.278873503, -0.374109447, -0.426872849, 0.447574198, 0.201768294,
};
static const double mixed_SGD_weights_kind_bias[] = {
    -0.0660015345, 0.260880023, 0.32074663,
};
static const double mixed_SGD_weights_price_kernel[] = {
    0.30504933, -0.183748633, 0.0384929329, 0.177813172, -0.292342365, -0.156903282, 0.144691169, 0.324245453,
};
static const double mixed_SGD_weights_price_bias[] = {
    0.22555086,
};
static const double mixed_Adam_losses[] = {
    1.30482841, 1.08216453, 1.20348799, 1.21680319, 1.28336191, 1.13008046, 1.03330934, 1.19759297, 1.14347887, 1.08506203,
    1.09275997, 1.01835024, 1.23259044, 1.12087476, 1.00887477, 1.07846963, 1.00611556, 1.2371459, 1.10250926, 0.986217499,
    1.06567955, 1.00147843, 1.20017791, 1.08309925, 0.982153654, 1.05077124, 1.00162852, 1.15464842, 1.0661248, 0.980698824,
    1.03684556, 1.00397861, 1.11338723, 1.05376446, 0.971894681, 1.02492237, 1.00128424, 1.08358121, 1.0458777, 0.950478017,
    1.0145179, 0.993190169, 1.06123984, 1.04182661, 0.923614144, 1.00416148, 0.986551106, 1.03684974, 1.03868079, 0.900125086,
    0.99031955, 0.984378636, 1.00604939, 1.03516817, 0.881620765, 0.973191202, 0.983751833, 0.973306239, 1.03390372, 0.863252223,
    0.95547992, 0.980889678, 0.941460252, 1.03626442, 0.843399644, 0.937424242, 0.976974487, 0.908013344, 1.04066563, 0.826891303,
    0.916577637, 0.975049019, 0.871691346, 1.04555786, 0.815954804, 0.893462956, 0.977041543, 0.834083915, 1.05037868, 0.805891693,
    0.873839378, 0.976467133, 0.797401249, 1.0562191, 0.79085201, 0.856863618, 0.975586236, 0.763688862, 1.06351423, 0.776187897,
    0.837627351, 0.976559758, 0.732573628, 1.06606531, 0.778982759, 0.807256699, 0.991005778, 0.687852502, 1.06503415, 0.773820877,
};
static const double mixed_Adam_epochs_kind_accuracy[] = {
    0.388888896, 0.5, 0.444444448, 0.444444448, 0.444444448, 0.444444448, 0.444444448, 0.444444448, 0.444444448, 0.555555582,
    0.555555582, 0.555555582, 0.555555582, 0.611111104, 0.666666687, 0.666666687, 0.666666687, 0.611111104, 0.666666687, 0.666666687,
};
static const double mixed_Adam_epochs_kind_loss[] = {
    1.12314769, 1.05733795, 1.04461021, 1.03778062, 1.02332305, 1.0068992, 0.992149287, 0.979627854, 0.968330112, 0.957118829,
    0.944762157, 0.931790127, 0.919037117, 0.906470776, 0.893689712, 0.881064773, 0.86856044, 0.857632816, 0.848072774, 0.833966785,
};
static const double mixed_Adam_epochs_loss[] = {
    1.21088111, 1.1215539, 1.10422504, 1.09274423, 1.07589161, 1.05856049, 1.04309404, 1.02908981, 1.01612926, 1.00362349,
    0.990383565, 0.976839781, 0.963509858, 0.950338483, 0.937078595, 0.923980713, 0.91096729, 0.899499238, 0.88940388, 0.875124335,
};
static const double mixed_Adam_epochs_price_loss[] = {
    0.17546686, 0.128431928, 0.119229689, 0.109927259, 0.105136981, 0.103322692, 0.101889484, 0.0989240466, 0.0955982655, 0.0930093096,
    0.091242873, 0.0900993397, 0.0889454037, 0.0877354807, 0.0867775836, 0.0858317622, 0.0848137372, 0.0837329634, 0.0826622124, 0.0823151246,
};
static const double mixed_Adam_epochs_price_mae[] = {
    0.331358224, 0.275734752, 0.260151178, 0.244388878, 0.240596086, 0.242546424, 0.243053734, 0.239014253, 0.235231459, 0.232830763,
    0.232553646, 0.23375763, 0.234675989, 0.234842509, 0.234844446, 0.234655172, 0.234491035, 0.233899698, 0.232985228, 0.233672857,
};
static const double mixed_Adam_evaluated_kind_accuracy[] = {
    0.666666687,
};
static const double mixed_Adam_evaluated_kind_loss[] = {
    0.823669063,
};
static const double mixed_Adam_evaluated_loss[] = {
    0.864197135,
};
static const double mixed_Adam_evaluated_price_loss[] = {
    0.0810561652,
};
static const double mixed_Adam_evaluated_price_mae[] = {
    0.232309818,
};
static const double mixed_Adam_weights_edges_kernel[] = {
    -0.472030789, -0.34375, -0.224028617, 0.0139322858, 0.1796875, 0.205447301, -0.470846176,
};
static const double mixed_Adam_weights_edges_bias[] = {
    0.266032606, -0.4765625, -0.304760903,
};
static const double mixed_Adam_weights_hidden_kernel[] = {
    0.46976757, 0.1328125, 0.0694590583, 0.333224088, 0.4140625, -0.403485417, -0.40625, -0.513579249,
};
static const double mixed_Adam_weights_hidden_bias[] = {
    -0.233529449, -0.108345091, 0.333457768, -0.294171184, -0.192631081, 0.153084278, 0.537372351, -0.130088523,
};
static const double mixed_Adam_weights_kind_kernel[] = {
    -0.0258421823, -0.0480521098, -0.0662358478, -0.460299283, -0.41056484, -0.358885407, 0.470295757, 0.0178441089,
};
static const double mixed_Adam_weights_kind_bias[] = {
    -0.0502194539, 0.163545579, 0.394741088,
};
static const double mixed_Adam_weights_price_kernel[] = {
    0.278970718, -0.182054728, 0.0424353331, 0.174857304, -0.131423712, -0.130088598, 0.15036279, 0.179697797,
};
static const double mixed_Adam_weights_price_bias[] = {
    0.156225488,
};
static const double labels_SGD_losses[] = {
    0.669320345, 0.842532992, 0.67034936, 0.737366974, 0.736944616, 0.665080667, 0.813622832, 0.666718006, 0.725499272, 0.719423532,
    0.662351489, 0.790549457, 0.664377153, 0.716623485, 0.704435587, 0.660698533, 0.771431923, 0.662949264, 0.709880888, 0.691177845,
    0.65980196, 0.75534296, 0.662226617, 0.704661846, 0.679391861, 0.659529567, 0.74147296, 0.662101686, 0.700733066, 0.668998599,
    0.659773827, 0.729373574, 0.662463903, 0.697834909, 0.659840882, 0.660436332, 0.718725801, 0.663226485, 0.695772648, 0.651758194,
    0.661433756, 0.709349513, 0.664258063, 0.69431442, 0.644750178, 0.662720084, 0.701081753, 0.665477097, 0.69335711, 0.638726354,
    0.664135098, 0.693763852, 0.666809022, 0.692779481, 0.633601189, 0.665627599, 0.687284231, 0.668203592, 0.692464292, 0.629184723,
    0.667143762, 0.681507528, 0.669629216, 0.692321301, 0.625346303, 0.668651164, 0.676371813, 0.671031058, 0.692306399, 0.622062027,
    0.670107424, 0.671811223, 0.672378302, 0.69237113, 0.619271338, 0.671485662, 0.667743862, 0.673675597, 0.692409515, 0.61696291,
    0.672789156, 0.66409862, 0.674863815, 0.69254303, 0.614923358, 0.67398262, 0.660884678, 0.675954044, 0.692672133, 0.613187432,
    0.675070107, 0.658021688, 0.676943064, 0.692785203, 0.611700773, 0.676061869, 0.65545094, 0.677850485, 0.692878962, 0.610434115,
};
static const double labels_SGD_epochs_binary_accuracy[] = {
    0.486111104, 0.486111104, 0.486111104, 0.486111104, 0.5, 0.5, 0.486111104, 0.486111104, 0.583333313, 0.597222209,
    0.541666687, 0.541666687, 0.583333313, 0.597222209, 0.597222209, 0.597222209, 0.597222209, 0.597222209, 0.597222209, 0.597222209,
};
static const double labels_SGD_epochs_loss[] = {
    0.730675995, 0.717918277, 0.708026588, 0.700122118, 0.693717659, 0.688519239, 0.684303761, 0.680897832, 0.678162396, 0.67599988,
    0.674286246, 0.672927141, 0.67183888, 0.670975864, 0.670289755, 0.669732451, 0.669279218, 0.668908298, 0.668593407, 0.668324232,
};
static const double labels_SGD_evaluated_binary_accuracy[] = {
    0.597222209,
};
static const double labels_SGD_evaluated_loss[] = {
    0.666430354,
};
static const double labels_SGD_weights_edges_kernel[] = {
    -0.49958536, -0.307134122, -0.213917911, -0.0316747054, 0.0494154207, 0.250849426, 0.34612155, 0.515006065,
};
static const double labels_SGD_weights_edges_bias[] = {
    0.220161974, -0.458039731, -0.188001737, 0.158867553, 0.380737662, -0.333970457,
};
static const double labels_SGD_weights_tags_kernel[] = {
    -0.089583382, -0.207349837, -0.373245627, -0.428051561, 0.555575371, 0.403799355, -0.0526080392, 0.0622902475,
};
static const double labels_SGD_weights_tags_bias[] = {
    -0.139768392, 0.188183799, 0.0570451245, -0.366668046,
};
static const double labels_Adam_losses[] = {
    0.669320345, 0.845037937, 0.665576339, 0.732317865, 0.734904528, 0.657054424, 0.782345772, 0.662828624, 0.700663686, 0.697363615,
    0.658912182, 0.740772843, 0.666102171, 0.683700979, 0.664347172, 0.666179121, 0.705448151, 0.673531771, 0.676628709, 0.637949467,
    0.675141096, 0.67527318, 0.681463242, 0.676272631, 0.618148088, 0.681349516, 0.648211718, 0.68730557, 0.679501295, 0.602159441,
    0.68570143, 0.626057982, 0.691276252, 0.683966994, 0.5907377, 0.690666497, 0.61224252, 0.692355692, 0.688812137, 0.583681464,
    0.69211185, 0.606959522, 0.690536618, 0.691041887, 0.578743458, 0.691061795, 0.606597602, 0.686954618, 0.688662291, 0.573811114,
    0.688905716, 0.607846439, 0.682924747, 0.682587206, 0.572620213, 0.685842812, 0.608997524, 0.678675473, 0.676881492, 0.573101282,
    0.682065248, 0.608773589, 0.673798263, 0.673012018, 0.57292366, 0.678130031, 0.60747242, 0.66868639, 0.670552015, 0.569766164,
    0.674898624, 0.606063247, 0.664021492, 0.668286562, 0.563086629, 0.672638834, 0.603666544, 0.660047054, 0.665933132, 0.556826711,
    0.67036438, 0.600255311, 0.65581888, 0.662484467, 0.551942825, 0.667617798, 0.596859813, 0.651178837, 0.657602191, 0.546673059,
    0.664675176, 0.594495833, 0.646552801, 0.652300119, 0.540261388, 0.66099298, 0.593373835, 0.641217828, 0.645869136, 0.535281181,
};
static const double labels_Adam_epochs_binary_accuracy[] = {
    0.486111104, 0.5, 0.541666687, 0.555555582, 0.583333313, 0.597222209, 0.597222209, 0.597222209, 0.597222209, 0.597222209,
    0.597222209, 0.597222209, 0.597222209, 0.597222209, 0.597222209, 0.597222209, 0.597222209, 0.597222209, 0.597222209, 0.597222209,
};
static const double labels_Adam_epochs_loss[] = {
    0.728823245, 0.700349927, 0.684813738, 0.675725043, 0.670494318, 0.666099489, 0.662749231, 0.661315024, 0.660004795, 0.657818198,
    0.655238748, 0.652655065, 0.649802446, 0.646605313, 0.643291771, 0.640155315, 0.636643171, 0.632576644, 0.628478765, 0.6242432,
};
static const double labels_Adam_evaluated_binary_accuracy[] = {
    0.597222209,
};
static const double labels_Adam_evaluated_loss[] = {
    0.620518684,
};
static const double labels_Adam_weights_edges_kernel[] = {
    -0.449106187, -0.0910266563, -0.355235517, 0.00698027387, 0.066774413, 0.441484302, 0.423618346, 0.519216657,
};
static const double labels_Adam_weights_edges_bias[] = {
    0.246485487, -0.294419229, -0.155152589, 0.0738556683, 0.386454612, -0.378762066,
};
static const double labels_Adam_weights_tags_kernel[] = {
    -0.482693434, -0.222447321, -0.536001444, -0.658697665, 0.546938717, 0.38150093, 0.0653185919, 0.0606106929,
};
static const double labels_Adam_weights_tags_bias[] = {
    -0.204641134, 0.0915007815, 0.173959151, -0.384358078,
};

static const keras_list keras_lists[] = {
    {"line_SGD_losses", line_SGD_losses, sizeof line_SGD_losses / sizeof *line_SGD_losses},
    {"line_SGD_epochs_loss", line_SGD_epochs_loss, sizeof line_SGD_epochs_loss / sizeof *line_SGD_epochs_loss},
    {"line_SGD_epochs_mae", line_SGD_epochs_mae, sizeof line_SGD_epochs_mae / sizeof *line_SGD_epochs_mae},
    {"line_SGD_evaluated_loss", line_SGD_evaluated_loss, sizeof line_SGD_evaluated_loss / sizeof *line_SGD_evaluated_loss},
    {"line_SGD_evaluated_mae", line_SGD_evaluated_mae, sizeof line_SGD_evaluated_mae / sizeof *line_SGD_evaluated_mae},
    {"line_SGD_weights_y_kernel", line_SGD_weights_y_kernel, sizeof line_SGD_weights_y_kernel / sizeof *line_SGD_weights_y_kernel},
    {"line_SGD_weights_y_bias", line_SGD_weights_y_bias, sizeof line_SGD_weights_y_bias / sizeof *line_SGD_weights_y_bias},
    {"line_Adam_losses", line_Adam_losses, sizeof line_Adam_losses / sizeof *line_Adam_losses},
    {"line_Adam_epochs_loss", line_Adam_epochs_loss, sizeof line_Adam_epochs_loss / sizeof *line_Adam_epochs_loss},
    {"line_Adam_epochs_mae", line_Adam_epochs_mae, sizeof line_Adam_epochs_mae / sizeof *line_Adam_epochs_mae},
    {"line_Adam_evaluated_loss", line_Adam_evaluated_loss, sizeof line_Adam_evaluated_loss / sizeof *line_Adam_evaluated_loss},
    {"line_Adam_evaluated_mae", line_Adam_evaluated_mae, sizeof line_Adam_evaluated_mae / sizeof *line_Adam_evaluated_mae},
    {"line_Adam_weights_y_kernel", line_Adam_weights_y_kernel, sizeof line_Adam_weights_y_kernel / sizeof *line_Adam_weights_y_kernel},
    {"line_Adam_weights_y_bias", line_Adam_weights_y_bias, sizeof line_Adam_weights_y_bias / sizeof *line_Adam_weights_y_bias},
    {"table_SGD_losses", table_SGD_losses, sizeof table_SGD_losses / sizeof *table_SGD_losses},
    {"table_SGD_epochs_accuracy", table_SGD_epochs_accuracy, sizeof table_SGD_epochs_accuracy / sizeof *table_SGD_epochs_accuracy},
    {"table_SGD_epochs_loss", table_SGD_epochs_loss, sizeof table_SGD_epochs_loss / sizeof *table_SGD_epochs_loss},
    {"table_SGD_evaluated_accuracy", table_SGD_evaluated_accuracy, sizeof table_SGD_evaluated_accuracy / sizeof *table_SGD_evaluated_accuracy},
    {"table_SGD_evaluated_loss", table_SGD_evaluated_loss, sizeof table_SGD_evaluated_loss / sizeof *table_SGD_evaluated_loss},
    {"table_SGD_weights_place_embeddings", table_SGD_weights_place_embeddings, sizeof table_SGD_weights_place_embeddings / sizeof *table_SGD_weights_place_embeddings},
    {"table_SGD_weights_hidden_kernel", table_SGD_weights_hidden_kernel, sizeof table_SGD_weights_hidden_kernel / sizeof *table_SGD_weights_hidden_kernel},
    {"table_SGD_weights_hidden_bias", table_SGD_weights_hidden_bias, sizeof table_SGD_weights_hidden_bias / sizeof *table_SGD_weights_hidden_bias},
    {"table_SGD_weights_offer_kernel", table_SGD_weights_offer_kernel, sizeof table_SGD_weights_offer_kernel / sizeof *table_SGD_weights_offer_kernel},
    {"table_SGD_weights_offer_bias", table_SGD_weights_offer_bias, sizeof table_SGD_weights_offer_bias / sizeof *table_SGD_weights_offer_bias},
    {"table_Adam_losses", table_Adam_losses, sizeof table_Adam_losses / sizeof *table_Adam_losses},
    {"table_Adam_epochs_accuracy", table_Adam_epochs_accuracy, sizeof table_Adam_epochs_accuracy / sizeof *table_Adam_epochs_accuracy},
    {"table_Adam_epochs_loss", table_Adam_epochs_loss, sizeof table_Adam_epochs_loss / sizeof *table_Adam_epochs_loss},
    {"table_Adam_evaluated_accuracy", table_Adam_evaluated_accuracy, sizeof table_Adam_evaluated_accuracy / sizeof *table_Adam_evaluated_accuracy},
    {"table_Adam_evaluated_loss", table_Adam_evaluated_loss, sizeof table_Adam_evaluated_loss / sizeof *table_Adam_evaluated_loss},
    {"table_Adam_weights_place_embeddings", table_Adam_weights_place_embeddings, sizeof table_Adam_weights_place_embeddings / sizeof *table_Adam_weights_place_embeddings},
    {"table_Adam_weights_hidden_kernel", table_Adam_weights_hidden_kernel, sizeof table_Adam_weights_hidden_kernel / sizeof *table_Adam_weights_hidden_kernel},
    {"table_Adam_weights_hidden_bias", table_Adam_weights_hidden_bias, sizeof table_Adam_weights_hidden_bias / sizeof *table_Adam_weights_hidden_bias},
    {"table_Adam_weights_offer_kernel", table_Adam_weights_offer_kernel, sizeof table_Adam_weights_offer_kernel / sizeof *table_Adam_weights_offer_kernel},
    {"table_Adam_weights_offer_bias", table_Adam_weights_offer_bias, sizeof table_Adam_weights_offer_bias / sizeof *table_Adam_weights_offer_bias},
    {"sequences_SGD_losses", sequences_SGD_losses, sizeof sequences_SGD_losses / sizeof *sequences_SGD_losses},
    {"sequences_SGD_epochs_binary_accuracy", sequences_SGD_epochs_binary_accuracy, sizeof sequences_SGD_epochs_binary_accuracy / sizeof *sequences_SGD_epochs_binary_accuracy},
    {"sequences_SGD_epochs_loss", sequences_SGD_epochs_loss, sizeof sequences_SGD_epochs_loss / sizeof *sequences_SGD_epochs_loss},
    {"sequences_SGD_evaluated_binary_accuracy", sequences_SGD_evaluated_binary_accuracy, sizeof sequences_SGD_evaluated_binary_accuracy / sizeof *sequences_SGD_evaluated_binary_accuracy},
    {"sequences_SGD_evaluated_loss", sequences_SGD_evaluated_loss, sizeof sequences_SGD_evaluated_loss / sizeof *sequences_SGD_evaluated_loss},
    {"sequences_SGD_weights_rows_embeddings", sequences_SGD_weights_rows_embeddings, sizeof sequences_SGD_weights_rows_embeddings / sizeof *sequences_SGD_weights_rows_embeddings},
    {"sequences_SGD_weights_hidden_kernel", sequences_SGD_weights_hidden_kernel, sizeof sequences_SGD_weights_hidden_kernel / sizeof *sequences_SGD_weights_hidden_kernel},
    {"sequences_SGD_weights_hidden_bias", sequences_SGD_weights_hidden_bias, sizeof sequences_SGD_weights_hidden_bias / sizeof *sequences_SGD_weights_hidden_bias},
    {"sequences_SGD_weights_good_kernel", sequences_SGD_weights_good_kernel, sizeof sequences_SGD_weights_good_kernel / sizeof *sequences_SGD_weights_good_kernel},
    {"sequences_SGD_weights_good_bias", sequences_SGD_weights_good_bias, sizeof sequences_SGD_weights_good_bias / sizeof *sequences_SGD_weights_good_bias},
    {"sequences_Adam_losses", sequences_Adam_losses, sizeof sequences_Adam_losses / sizeof *sequences_Adam_losses},
    {"sequences_Adam_epochs_binary_accuracy", sequences_Adam_epochs_binary_accuracy, sizeof sequences_Adam_epochs_binary_accuracy / sizeof *sequences_Adam_epochs_binary_accuracy},
    {"sequences_Adam_epochs_loss", sequences_Adam_epochs_loss, sizeof sequences_Adam_epochs_loss / sizeof *sequences_Adam_epochs_loss},
    {"sequences_Adam_evaluated_binary_accuracy", sequences_Adam_evaluated_binary_accuracy, sizeof sequences_Adam_evaluated_binary_accuracy / sizeof *sequences_Adam_evaluated_binary_accuracy},
    {"sequences_Adam_evaluated_loss", sequences_Adam_evaluated_loss, sizeof sequences_Adam_evaluated_loss / sizeof *sequences_Adam_evaluated_loss},
    {"sequences_Adam_weights_rows_embeddings", sequences_Adam_weights_rows_embeddings, sizeof sequences_Adam_weights_rows_embeddings / sizeof *sequences_Adam_weights_rows_embeddings},
    {"sequences_Adam_weights_hidden_kernel", sequences_Adam_weights_hidden_kernel, sizeof sequences_Adam_weights_hidden_kernel / sizeof *sequences_Adam_weights_hidden_kernel},
    {"sequences_Adam_weights_hidden_bias", sequences_Adam_weights_hidden_bias, sizeof sequences_Adam_weights_hidden_bias / sizeof *sequences_Adam_weights_hidden_bias},
    {"sequences_Adam_weights_good_kernel", sequences_Adam_weights_good_kernel, sizeof sequences_Adam_weights_good_kernel / sizeof *sequences_Adam_weights_good_kernel},
    {"sequences_Adam_weights_good_bias", sequences_Adam_weights_good_bias, sizeof sequences_Adam_weights_good_bias / sizeof *sequences_Adam_weights_good_bias},
    {"mixed_SGD_losses", mixed_SGD_losses, sizeof mixed_SGD_losses / sizeof *mixed_SGD_losses},
    {"mixed_SGD_epochs_kind_accuracy", mixed_SGD_epochs_kind_accuracy, sizeof mixed_SGD_epochs_kind_accuracy / sizeof *mixed_SGD_epochs_kind_accuracy},
    {"mixed_SGD_epochs_kind_loss", mixed_SGD_epochs_kind_loss, sizeof mixed_SGD_epochs_kind_loss / sizeof *mixed_SGD_epochs_kind_loss},
    {"mixed_SGD_epochs_loss", mixed_SGD_epochs_loss, sizeof mixed_SGD_epochs_loss / sizeof *mixed_SGD_epochs_loss},
    {"mixed_SGD_epochs_price_loss", mixed_SGD_epochs_price_loss, sizeof mixed_SGD_epochs_price_loss / sizeof *mixed_SGD_epochs_price_loss},
    {"mixed_SGD_epochs_price_mae", mixed_SGD_epochs_price_mae, sizeof mixed_SGD_epochs_price_mae / sizeof *mixed_SGD_epochs_price_mae},
    {"mixed_SGD_evaluated_kind_accuracy", mixed_SGD_evaluated_kind_accuracy, sizeof mixed_SGD_evaluated_kind_accuracy / sizeof *mixed_SGD_evaluated_kind_accuracy},
    {"mixed_SGD_evaluated_kind_loss", mixed_SGD_evaluated_kind_loss, sizeof mixed_SGD_evaluated_kind_loss / sizeof *mixed_SGD_evaluated_kind_loss},
    {"mixed_SGD_evaluated_loss", mixed_SGD_evaluated_loss, sizeof mixed_SGD_evaluated_loss / sizeof *mixed_SGD_evaluated_loss},
    {"mixed_SGD_evaluated_price_loss", mixed_SGD_evaluated_price_loss, sizeof mixed_SGD_evaluated_price_loss / sizeof *mixed_SGD_evaluated_price_loss},
    {"mixed_SGD_evaluated_price_mae", mixed_SGD_evaluated_price_mae, sizeof mixed_SGD_evaluated_price_mae / sizeof *mixed_SGD_evaluated_price_mae},
    {"mixed_SGD_weights_edges_kernel", mixed_SGD_weights_edges_kernel, sizeof mixed_SGD_weights_edges_kernel / sizeof *mixed_SGD_weights_edges_kernel},
    {"mixed_SGD_weights_edges_bias", mixed_SGD_weights_edges_bias, sizeof mixed_SGD_weights_edges_bias / sizeof *mixed_SGD_weights_edges_bias},
    {"mixed_SGD_weights_hidden_kernel", mixed_SGD_weights_hidden_kernel, sizeof mixed_SGD_weights_hidden_kernel / sizeof *mixed_SGD_weights_hidden_kernel},
    {"mixed_SGD_weights_hidden_bias", mixed_SGD_weights_hidden_bias, sizeof mixed_SGD_weights_hidden_bias / sizeof *mixed_SGD_weights_hidden_bias},
    {"mixed_SGD_weights_kind_kernel", mixed_SGD_weights_kind_kernel, sizeof mixed_SGD_weights_kind_kernel / sizeof *mixed_SGD_weights_kind_kernel},
    {"mixed_SGD_weights_kind_bias", mixed_SGD_weights_kind_bias, sizeof mixed_SGD_weights_kind_bias / sizeof *mixed_SGD_weights_kind_bias},
    {"mixed_SGD_weights_price_kernel", mixed_SGD_weights_price_kernel, sizeof mixed_SGD_weights_price_kernel / sizeof *mixed_SGD_weights_price_kernel},
    {"mixed_SGD_weights_price_bias", mixed_SGD_weights_price_bias, sizeof mixed_SGD_weights_price_bias / sizeof *mixed_SGD_weights_price_bias},
    {"mixed_Adam_losses", mixed_Adam_losses, sizeof mixed_Adam_losses / sizeof *mixed_Adam_losses},
    {"mixed_Adam_epochs_kind_accuracy", mixed_Adam_epochs_kind_accuracy, sizeof mixed_Adam_epochs_kind_accuracy / sizeof *mixed_Adam_epochs_kind_accuracy},
    {"mixed_Adam_epochs_kind_loss", mixed_Adam_epochs_kind_loss, sizeof mixed_Adam_epochs_kind_loss / sizeof *mixed_Adam_epochs_kind_loss},
    {"mixed_Adam_epochs_loss", mixed_Adam_epochs_loss, sizeof mixed_Adam_epochs_loss / sizeof *mixed_Adam_epochs_loss},
    {"mixed_Adam_epochs_price_loss", mixed_Adam_epochs_price_loss, sizeof mixed_Adam_epochs_price_loss / sizeof *mixed_Adam_epochs_price_loss},
    {"mixed_Adam_epochs_price_mae", mixed_Adam_epochs_price_mae, sizeof mixed_Adam_epochs_price_mae / sizeof *mixed_Adam_epochs_price_mae},
    {"mixed_Adam_evaluated_kind_accuracy", mixed_Adam_evaluated_kind_accuracy, sizeof mixed_Adam_evaluated_kind_accuracy / sizeof *mixed_Adam_evaluated_kind_accuracy},
    {"mixed_Adam_evaluated_kind_loss", mixed_Adam_evaluated_kind_loss, sizeof mixed_Adam_evaluated_kind_loss / sizeof *mixed_Adam_evaluated_kind_loss},
    {"mixed_Adam_evaluated_loss", mixed_Adam_evaluated_loss, sizeof mixed_Adam_evaluated_loss / sizeof *mixed_Adam_evaluated_loss},
    {"mixed_Adam_evaluated_price_loss", mixed_Adam_evaluated_price_loss, sizeof mixed_Adam_evaluated_price_loss / sizeof *mixed_Adam_evaluated_price_loss},
    {"mixed_Adam_evaluated_price_mae", mixed_Adam_evaluated_price_mae, sizeof mixed_Adam_evaluated_price_mae / sizeof *mixed_Adam_evaluated_price_mae},
    {"mixed_Adam_weights_edges_kernel", mixed_Adam_weights_edges_kernel, sizeof mixed_Adam_weights_edges_kernel / sizeof *mixed_Adam_weights_edges_kernel},
    {"mixed_Adam_weights_edges_bias", mixed_Adam_weights_edges_bias, sizeof mixed_Adam_weights_edges_bias / sizeof *mixed_Adam_weights_edges_bias},
    {"mixed_Adam_weights_hidden_kernel", mixed_Adam_weights_hidden_kernel, sizeof mixed_Adam_weights_hidden_kernel / sizeof *mixed_Adam_weights_hidden_kernel},
    {"mixed_Adam_weights_hidden_bias", mixed_Adam_weights_hidden_bias, sizeof mixed_Adam_weights_hidden_bias / sizeof *mixed_Adam_weights_hidden_bias},
    {"mixed_Adam_weights_kind_kernel", mixed_Adam_weights_kind_kernel, sizeof mixed_Adam_weights_kind_kernel / sizeof *mixed_Adam_weights_kind_kernel},
    {"mixed_Adam_weights_kind_bias", mixed_Adam_weights_kind_bias, sizeof mixed_Adam_weights_kind_bias / sizeof *mixed_Adam_weights_kind_bias},
    {"mixed_Adam_weights_price_kernel", mixed_Adam_weights_price_kernel, sizeof mixed_Adam_weights_price_kernel / sizeof *mixed_Adam_weights_price_kernel},
    {"mixed_Adam_weights_price_bias", mixed_Adam_weights_price_bias, sizeof mixed_Adam_weights_price_bias / sizeof *mixed_Adam_weights_price_bias},
    {"labels_SGD_losses", labels_SGD_losses, sizeof labels_SGD_losses / sizeof *labels_SGD_losses},
    {"labels_SGD_epochs_binary_accuracy", labels_SGD_epochs_binary_accuracy, sizeof labels_SGD_epochs_binary_accuracy / sizeof *labels_SGD_epochs_binary_accuracy},
    {"labels_SGD_epochs_loss", labels_SGD_epochs_loss, sizeof labels_SGD_epochs_loss / sizeof *labels_SGD_epochs_loss},
    {"labels_SGD_evaluated_binary_accuracy", labels_SGD_evaluated_binary_accuracy, sizeof labels_SGD_evaluated_binary_accuracy / sizeof *labels_SGD_evaluated_binary_accuracy},
    {"labels_SGD_evaluated_loss", labels_SGD_evaluated_loss, sizeof labels_SGD_evaluated_loss / sizeof *labels_SGD_evaluated_loss},
    {"labels_SGD_weights_edges_kernel", labels_SGD_weights_edges_kernel, sizeof labels_SGD_weights_edges_kernel / sizeof *labels_SGD_weights_edges_kernel},
    {"labels_SGD_weights_edges_bias", labels_SGD_weights_edges_bias, sizeof labels_SGD_weights_edges_bias / sizeof *labels_SGD_weights_edges_bias},
    {"labels_SGD_weights_tags_kernel", labels_SGD_weights_tags_kernel, sizeof labels_SGD_weights_tags_kernel / sizeof *labels_SGD_weights_tags_kernel},
    {"labels_SGD_weights_tags_bias", labels_SGD_weights_tags_bias, sizeof labels_SGD_weights_tags_bias / sizeof *labels_SGD_weights_tags_bias},
    {"labels_Adam_losses", labels_Adam_losses, sizeof labels_Adam_losses / sizeof *labels_Adam_losses},
    {"labels_Adam_epochs_binary_accuracy", labels_Adam_epochs_binary_accuracy, sizeof labels_Adam_epochs_binary_accuracy / sizeof *labels_Adam_epochs_binary_accuracy},
    {"labels_Adam_epochs_loss", labels_Adam_epochs_loss, sizeof labels_Adam_epochs_loss / sizeof *labels_Adam_epochs_loss},
    {"labels_Adam_evaluated_binary_accuracy", labels_Adam_evaluated_binary_accuracy, sizeof labels_Adam_evaluated_binary_accuracy / sizeof *labels_Adam_evaluated_binary_accuracy},
    {"labels_Adam_evaluated_loss", labels_Adam_evaluated_loss, sizeof labels_Adam_evaluated_loss / sizeof *labels_Adam_evaluated_loss},
    {"labels_Adam_weights_edges_kernel", labels_Adam_weights_edges_kernel, sizeof labels_Adam_weights_edges_kernel / sizeof *labels_Adam_weights_edges_kernel},
    {"labels_Adam_weights_edges_bias", labels_Adam_weights_edges_bias, sizeof labels_Adam_weights_edges_bias / sizeof *labels_Adam_weights_edges_bias},
    {"labels_Adam_weights_tags_kernel", labels_Adam_weights_tags_kernel, sizeof labels_Adam_weights_tags_kernel / sizeof *labels_Adam_weights_tags_kernel},
    {"labels_Adam_weights_tags_bias", labels_Adam_weights_tags_bias, sizeof labels_Adam_weights_tags_bias / sizeof *labels_Adam_weights_tags_bias},
};
/* clang-format on */
